"""The source stands in an export as it was, whatever it holds."""

import pytest

from engine.languages.headers import HEADERS
from protocol.source import Options
from takeaway.cupy_script import cupy_options, host_headers, python_text


@pytest.mark.parametrize(
    "text",
    [
        "a\n",
        "no end of line",
        "'''\n",
        '"""\n',
        "'''\"\"\"\n",
        'ends with "',
        "ends with \\",
        "ends with '",
        "\\n \\\n \\x41 \\N{DASH}\n",
        "Grüße, 世界 🙂\n",
        "carriage\r\nreturn\rlone\n",
        "\n\n@SOURCE@ {braces} %s\n",
        "\f\v\x1c\u2028\n",
    ],
)
def test_python_reads_the_source_that_was_written(text: str) -> None:
    assert eval(compile(f"x = {python_text(text)}".removeprefix("x = "), "text.py", "eval")) == text


def test_a_script_brings_the_headers_that_warpyard_gives() -> None:
    assert host_headers('#include <cmath>\n# include "math.h"\n#include <cub/cub.cuh>\n') == {
        name: HEADERS[name] for name in ("cmath", "math.h")
    }
    assert host_headers("float x = INFINITY;") == {"cmath": HEADERS["cmath"]}
    assert cupy_options(Options(), "float x = INFINITY;") == ["-std=c++17", "-include=cmath"]
    every = "".join(f"#include <{name}>\n" for name in HEADERS)
    assert host_headers(every) == dict(sorted(HEADERS.items()))
