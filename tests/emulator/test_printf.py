"""What a kernel prints is what C prints."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from emulator.runtime.printf import WIDEST, format_printf

# Where the strings of a test lie.
STRINGS = 0x1000


def printed(template: str, *arguments: int | float | str | tuple[str, int | float]) -> str:
    """Formats as a kernel would: an int has 4 bytes, a ('q', x) 8, a float and a str's address 8."""
    packed = bytearray()
    strings: dict[int, bytes] = {}
    for argument in arguments:
        if isinstance(argument, tuple):
            code, value = argument
        elif isinstance(argument, str):
            value = STRINGS + len(strings)
            strings[value] = argument.encode()
            code = "Q"
        else:
            code, value = ("d", argument) if isinstance(argument, float) else ("i", argument)
        size = struct.calcsize("<" + code)
        packed += b"\xee" * (-len(packed) % size)
        packed += struct.pack("<" + code, value)

    def read(offset: int, size: int) -> bytes:
        if offset + size > len(packed):
            raise LookupError(offset)
        return bytes(packed[offset : offset + size])

    return format_printf(template.encode(), read, strings.__getitem__)


CASES: Sequence[tuple[str, tuple[object, ...], str]] = [
    ("plain", (), "plain"),
    ("%d %i", (-1, 2147483647), "-1 2147483647"),
    ("%u", (-1,), "4294967295"),
    ("%x %X %#x", (-1, 48879, 255), "ffffffff BEEF 0xff"),
    ("%o %#o", (8, 8), "10 010"),
    ("%c%c", (72, 105), "Hi"),
    ("%5d|%-5d|%05d|%+d|% d", (42, 42, 42, 42, 42), "   42|42   |00042|+42| 42"),
    ("%.3d|%8.3d", (7, 7), "007|     007"),
    ("%*d|%-*d|%.*f", (4, 7, 4, 7, 2, 1.5), "   7|7   |1.50"),
    ("%*d|", (-4, 7), "7   |"),
    ("%.*f", (-1, 1.5), "1.500000"),
    ("%hhd %hd", (300, 70000), "44 4464"),
    ("%hhu %hx", (-1, -1), "255 ffff"),
    ("%ld %lld %lu", (("q", -5), ("q", 1 << 40), ("Q", (1 << 64) - 1)), "-5 1099511627776 18446744073709551615"),
    ("%zu %td %jd %llx", (("Q", 7), ("q", -7), ("q", 9), ("Q", 1 << 60)), "7 -7 9 1000000000000000"),
    ("%d %lld %d", (1, ("q", 2), 3), "1 2 3"),
    ("%f %.2f %10.3f|", (1.0, 2.345, -0.5), "1.000000 2.35 " + "    -0.500|"),
    ("%e %E %g %G", (12345.678, 0.00001, 0.0001, 1e20), "1.234568e+04 1.000000E-05 0.0001 1E+20"),
    ("%g %g %g", (0.1, 100000.0, 1000000.0), "0.1 100000 1e+06"),
    ("%#g %#.0f", (1.0, 3.0), "1.00000 3."),
    ("%a %A %.1a", (1.5, 1.5, 1.96875), "0x1.8p+0 0X1.8P+0 0x2.0p+0"),
    ("%f %F %e", (float("inf"), float("-inf"), float("nan")), "inf -INF nan"),
    ("%08f|%-8g|", (float("inf"), float("-inf")), "     inf|-inf    |"),
    ("%f", (struct.unpack("<d", b"\0\0\0\0\0\0\xf8\xff")[0],), "-nan"),
    ("%s|%8s|%-8s|%.2s", ("text", "text", "text", "text"), "text|    text|text    |te"),
    ("%s", ("größe",), "größe"),
    ("%p %p", (("Q", 0x7F00DEAD0000), ("Q", 0)), "0x7f00dead0000 (nil)"),
    ("100%% %d%%", (5,), "100% 5%"),
    ("%d %d", (1,), "1 %d"),
    ("%s and %f", (), "%s and %f"),
    ("%y %k %n", (1,), "%y %k %n"),
    ("trailing %", (), "trailing %"),
    ("%5%|", (), "%|"),
    ("%ls", (("Q", STRINGS),), "%ls"),
    ("a\nb\t%d\n", (1,), "a\nb\t1\n"),
    ("%c", (0,), "\0"),
    ("%.0f %.0f %.0f", (0.5, 1.5, 2.5), "0 2 2"),
    ("%.20f", (0.1,), "0.10000000000000000555"),
    ("%s", ("x" * 3000,), "x" * 3000),
]


@pytest.mark.parametrize(("template", "arguments", "text"), CASES, ids=[case[0][:24] for case in CASES])
def test_prints_as_c_does(template: str, arguments: tuple[object, ...], text: str) -> None:
    assert printed(template, *arguments) == text  # type: ignore[arg-type]


def test_a_huge_width_is_cut() -> None:
    assert len(printed("%2000000000d", 1)) == WIDEST
    assert len(printed("%.*f", 2000000000, 1.0)) == WIDEST + 2


def test_text_that_is_not_utf8_is_replaced() -> None:
    assert (
        format_printf(b"\xff%d", lambda offset, size: b"\1\0\0\0", lambda address: b"") == "\N{REPLACEMENT CHARACTER}1"
    )


def test_a_string_at_a_bad_address_is_a_fault() -> None:
    with pytest.raises(LookupError):
        format_printf(b"%s", lambda offset, size: bytes(size), {}.__getitem__)
