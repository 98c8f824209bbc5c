"""Bad input as data: each item of the list with what it must answer on the API, the command line and the page.

An item without rows for a path has a drill there, a test of its own by name, or the reason why it cannot be met.
"""

from dataclasses import dataclass, field
from typing import Any

ITEMS = (
    *("syntax error", "warnings only", "no kernel", "unknown entry", "wrong argument count", "wrong dtype"),
    *("negative sizes", "huge sizes", "non-finite JSON", "10 MB source", "unknown option", "empty source"),
    *("Unicode in source", "NUL in source", "kernel that never ends", "printf flood", "traps", "asserts"),
    *("null pointer", "compile bomb", "wrong .npy", "huge .npy", "missing share", "broker away", "database locked"),
    *("disk full", "two tabs", "worker of another version", "browser offline"),
)
PATHS = ("api", "command line", "page")

HEAD = "__global__ void k(float *a, float f)"
GOOD = f"{HEAD} {{\n  a[threadIdx.x] = f;\n}}\n"
SYNTAX = f"{HEAD} {{\n  a[0] = f\n}}\n"
WARNING = f"{HEAD} {{\n  int unused = 1;\n  a[threadIdx.x] = f;\n}}\n"
NO_KERNEL = "__device__ int nothing() { return 1; }\n"
UNICODE = f"{HEAD} {{\n  // größe ≤ 你好\n  a[0] = “f”;\n}}\n"
NUL = "// fine\n__global__ \0void k(float *a, float f) {}\n"
SPIN = f"{HEAD} {{\n  while (true)\n    a[0] = a[0] + 1;\n}}\n"
FLOOD = f'#include <cstdio>\n{HEAD} {{\n  for (int i = 0; ; ++i)\n    printf("%d flood flood\\n", i);\n}}\n'
TRAP = f"{HEAD} {{\n  if (threadIdx.x == 3)\n    __trap();\n}}\n"
COMPILER_TRAP = f"{HEAD} {{\n  float *p = nullptr;\n  a[0] = *p;\n}}\n"
ASSERT = f"#include <cassert>\n{HEAD} {{\n  assert(threadIdx.x < 3);\n}}\n"
NULL = f"{HEAD} {{\n  volatile float *p = nullptr;\n  p[threadIdx.x] = f;\n}}\n"
BOMB = (
    "template <int N> __device__ int f(int x) { return f<N - 1>(x) + f<N - 1>(x * N + 1); }\n"
    "template <> __device__ int f<0>(int x) { return x * x; }\n"
    "__global__ void k(float *a, float b) { a[0] = f<40>(a[1]); }\n"
)
HUGE_SOURCE = "//" + "x" * 10_000_000
LARGE_SOURCE = "//" + "x" * 300_000
TRAPPED = r"Thread \(3, 0, 0\) of block \(0, 0, 0\) executed a trap"
PUT_BY_COMPILER = "a trap that the compiler itself put here"
ASSERTED = r"assertion 'threadIdx.x < 3' failed"
NULL_POINTER = "4 bytes through a null pointer"
STOPPED = "stopped after|time that this service gives|longer than|time limit"
FLOODED = "stopped after|printed more than"
BOMBED = "[Cc]ompiler (was stopped|needed more|took)|[Cc]ompil.* (limit|stopped)"


@dataclass(frozen=True)
class Api:
    """A POST /api/runs: `body` replaces parts of a good one by their dotted path, `text` parts of its JSON.

    422 and 413 answer at once; 202 ends with `verdict`, and `words` in its message, a diagnostic or a finding.
    """

    item: str
    body: dict[str, Any] = field(default_factory=dict)
    text: tuple[str, str] | None = None
    status: int = 202
    place: str = ""
    """The field at fault, or the line as a number."""
    words: str = ""
    verdict: str = "error"


API = (
    Api("syntax error", {"source.text": SYNTAX}, place="3", words='expected a ";"', verdict="compile-error"),
    Api("warnings only", {"source.text": WARNING}, place="2", words='"unused" was declared but never', verdict="ok"),
    Api("no kernel", {"source.text": NO_KERNEL}, place="1", words="defines no kernel", verdict="compile-error"),
    Api("unknown entry", {"steps.0.entry": "kk"}, place="steps.0.entry", words="no kernel is called kk"),
    Api(
        "wrong argument count",
        {"steps.0.arguments": [{"kind": "buffer", "buffer": "a"}]},
        place="steps.0.arguments",
        words="1 argument is given, but k takes 2",
    ),
    Api("wrong dtype", {"buffers.0.dtype": "float31"}, None, 422, "buffers.0.dtype", "it is 'float31'"),
    Api("wrong dtype", {"steps.0.arguments.1.value": "abc"}, None, 202, "steps.0.arguments.1", "'abc' is not a number"),
    Api(
        "wrong dtype",
        {"steps.0.arguments.0": {"kind": "scalar", "value": 1}},
        place="steps.0.arguments.0",
        words="a is a pointer",
    ),
    Api("wrong dtype", {"buffers.0.dtype": "int32"}, None, 202, "steps.0.arguments.0", "as 32 float32", "ok"),
    Api("negative sizes", {"buffers.0.shape": [-32]}, None, 422, "buffers.0.shape.0", "greater than or equal to 1"),
    Api("negative sizes", {"steps.0.config.grid": [-1]}, None, 422, "steps.0.config.grid.0", "greater than or equal"),
    Api("negative sizes", {"steps.0.config.block": [-1]}, None, 422, "steps.0.config.block.0", "greater than or equal"),
    Api("huge sizes", {"buffers.0.shape": [1 << 40]}, None, 422, "buffers.0", "the limit is 1,073,741,824"),
    Api("huge sizes", {"steps.0.config.grid": [1 << 33]}, None, 422, "steps.0.config.grid.0", "less than or equal to"),
    Api("huge sizes", {"steps.0.config.block": [1025]}, place="steps.0.config.block", words="sm_90 allows 1,024"),
    Api(
        "huge sizes",
        {"steps.0.config.dynamic_shared_bytes": 1 << 40},
        place="steps.0.config.dynamic_shared_bytes",
        words="sm_90 has 232,448 a block",
    ),
    Api("non-finite JSON", {}, ("2.5", "NaN"), 422, "steps.0.arguments.1.value", "finite number"),
    Api("non-finite JSON", {}, ("2.5", "1e999"), 422, "steps.0.arguments.1.value", "finite number"),
    Api("non-finite JSON", {}, ("[32]", "[-Infinity]"), 422, "buffers.0.shape.0", "valid integer"),
    Api("10 MB source", {"source.text": HUGE_SOURCE}, None, 413, "", "larger than 4,194,304 bytes"),
    Api("10 MB source", {"source.text": LARGE_SOURCE}, None, 422, "source.text", "the limit is 262,144"),
    Api("unknown option", {"options": {"opt": 3}}, None, 422, "options.opt", "not known here"),
    Api("unknown option", {"options": {"standard": "c++98"}}, None, 422, "options.standard", "it is .c\\+\\+98"),
    Api("empty source", {"source.text": ""}, None, 422, "source.text", "the source is empty"),
    Api("empty source", {"source.text": " \n\t\n"}, None, 422, "source.text", "the source is empty"),
    Api(
        "Unicode in source",
        {"source.text": UNICODE},
        place="3",
        words=r"“' \(U\+201C\) cannot",
        verdict="compile-error",
    ),
    Api("NUL in source", {"source.text": NUL}, None, 422, "source.text", "line 2, column 12 holds a NUL"),
    Api("kernel that never ends", {"source.text": SPIN}, words=STOPPED, verdict="limit:(wall|cpu)"),
    Api("printf flood", {"source.text": FLOOD}, words=FLOODED, verdict="limit:(wall|cpu|log)"),
    Api("traps", {"source.text": TRAP}, place="3", words=TRAPPED),
    Api("traps", {"source.text": COMPILER_TRAP}, place="3", words=PUT_BY_COMPILER),
    Api("asserts", {"source.text": ASSERT}, place="3", words=ASSERTED),
    Api("null pointer", {"source.text": NULL}, place="3", words=NULL_POINTER),
    Api("compile bomb", {"source.text": BOMB}, words=BOMBED, verdict="limit:.*|compile-error"),
)


@dataclass(frozen=True)
class Upload:
    """A POST /api/uploads of a file that is no array."""

    item: str
    file: str
    status: int
    words: str


UPLOADS = (
    Upload("wrong .npy", "not an array", 422, "This is not a .npy file"),
    Upload("wrong .npy", "objects", 422, "Its dtype is object"),
    Upload("wrong .npy", "cut short", 422, "but the file holds"),
    Upload("huge .npy", "claims 400 GB", 422, "a buffer has at most 1,073,741,824"),
    Upload("huge .npy", "has 65 MiB", 413, "larger than 67,108,864 bytes"),
)


@dataclass(frozen=True)
class Command:
    """`warpyard run` of a source with arguments: exit code, and words on standard error."""

    item: str
    source: str
    arguments: str
    code: int
    words: str
    file: str = ""
    """The file that a.npy is, as in `Upload`."""


LAUNCH = "--arg a=float32[32] --arg f=2 --grid 1 --block 32"
COMMANDS = (
    Command("syntax error", SYNTAX, LAUNCH, 1, r'bad\.cu:3:1: error: expected a ";"'),
    Command("warnings only", WARNING, LAUNCH, 0, r"bad\.cu:2:7: warning: "),
    Command("no kernel", NO_KERNEL, LAUNCH, 1, r"bad\.cu:1:1: error: the source defines no kernel"),
    Command("unknown entry", GOOD, f"{LAUNCH} --entry kk", 2, "no kernel is called kk; did you mean k"),
    Command("wrong argument count", GOOD, "--arg a=float32[32]", 2, "k needs more arguments.*\n.*--arg f="),
    Command("wrong argument count", GOOD, f"{LAUNCH} --arg m=1", 2, "--arg m: k has no such parameter"),
    Command("wrong dtype", GOOD, "--arg a=float31[32] --arg f=1", 2, "float31 is not a dtype; did you mean"),
    Command("wrong dtype", GOOD, "--arg a=3 --arg f=1", 2, "--arg a: the parameter is a pointer"),
    Command("wrong dtype", GOOD, "--arg a=float32[32] --arg f=abc", 2, "--arg f: 'abc' is not a number"),
    Command("negative sizes", GOOD, "--arg a=float32[-32] --arg f=1", 2, r"--arg a: \[-32\] is not a shape"),
    Command("negative sizes", GOOD, f"{LAUNCH} --grid=-1", 2, "--grid: .*greater than or equal to 0"),
    Command("huge sizes", GOOD, "--arg a=float32[99999999999] --arg f=1", 2, "--arg a: .*limit is 1,073,741,824"),
    Command("huge sizes", GOOD, f"{LAUNCH} --block 2000", 1, "--block: error: .*sm_90 allows 1,024"),
    Command("huge sizes", GOOD, f"{LAUNCH} --shared 1099511627776", 1, "--shared: error: .*sm_90 has 232,448"),
    Command("10 MB source", HUGE_SOURCE, LAUNCH, 2, r"bad\.cu: the source has 10,000,002 bytes; the limit is 262,144"),
    Command("unknown option", GOOD, f"{LAUNCH} --fast-mat", 2, r"No such option: --fast-mat .*--fast-math"),
    Command("unknown option", GOOD, f"{LAUNCH} --std c++98", 2, "--std: .*c\\+\\+11"),
    Command("empty source", "\n\n", LAUNCH, 2, r"bad\.cu: the source is empty"),
    Command("Unicode in source", UNICODE, LAUNCH, 1, r"bad\.cu:3:10: error: '“' \(U\+201C\) cannot stand here"),
    Command("NUL in source", NUL, LAUNCH, 2, r"bad\.cu: line 2, column 12 holds a NUL"),
    Command("kernel that never ends", SPIN, LAUNCH, 1, STOPPED),
    Command("printf flood", FLOOD, LAUNCH, 1, FLOODED),
    Command("traps", TRAP, LAUNCH, 1, rf"bad\.cu:3:5: trap: {TRAPPED}"),
    Command("traps", COMPILER_TRAP, LAUNCH, 1, rf"bad\.cu:3:3: trap: .*{PUT_BY_COMPILER}"),
    Command("asserts", ASSERT, LAUNCH, 1, rf"bad\.cu:3:3: assert: .*{ASSERTED}"),
    Command("null pointer", NULL, LAUNCH, 1, rf"bad\.cu:3:3: memory: .*{NULL_POINTER}"),
    Command("compile bomb", BOMB, LAUNCH, 1, BOMBED),
    Command("wrong .npy", GOOD, "--arg a=@a.npy --arg f=1", 2, r"--arg a: a\.npy is not an", "not an array"),
    Command("wrong .npy", GOOD, "--arg a=@a.npy --arg f=1", 2, r"--arg a: a\.npy is not an", "objects"),
    Command("wrong .npy", GOOD, "--arg a=@none.npy --arg f=1", 2, r"--arg a: none\.npy: no such file"),
    Command("huge .npy", GOOD, "--arg a=@a.npy --arg f=1", 2, r"--arg a: a\.npy is not an", "claims 400 GB"),
)


@dataclass(frozen=True)
class OnPage:
    """What is typed into the page, and what stands there then: the text in the results after Run, or at the field.

    `fields` name the form's fields; where there are some, the first is the one at fault. Without a verdict nothing is
    sent.
    """

    item: str
    source: str = GOOD
    fields: dict[str, str] = field(default_factory=dict)
    words: str = ""
    verdict: str = ""
    mark: str = ""
    """The token that is underlined in the editor while typing."""


ON_PAGE = (
    OnPage("syntax error", SYNTAX, words=r'kernel\.cu:3:1.*expected a ";"', verdict="1 error", mark="}"),
    OnPage("warnings only", WARNING, words=r"kernel\.cu:2:7.*never referenced", verdict="Finished"),
    OnPage("no kernel", NO_KERNEL, words=r"kernel\.cu:1:1.*defines no kernel", verdict="did not compile"),
    OnPage(
        "unknown entry",
        f"{GOOD}__global__ void other(float *a) {{}}\n",
        fields={"Kernel to launch, or a template instantiation": "kk"},
        words="The source has no kernel called kk",
        verdict="no kernel is called kk",
    ),
    OnPage("wrong dtype", fields={"f, float": "abc"}, words="“abc” is not a number"),
    OnPage("negative sizes", fields={"a shape": "-32"}, words="at least 1"),
    OnPage("negative sizes", fields={"Block x": "-1"}, words="at least"),
    OnPage("huge sizes", fields={"a shape": "99999999999"}, words="more than a buffer can have: 1 GiB"),
    OnPage("huge sizes", fields={"Block x": "2000"}, words="at most 1,024 threads"),
    OnPage("empty source", "", words="the source is empty|Write a kernel|empty"),
    OnPage("Unicode in source", UNICODE, words=r"kernel\.cu:3:10.*cannot stand here", verdict="3 errors", mark="“"),
    OnPage("traps", TRAP, words=f"line 3.*{TRAPPED}", verdict="a defect"),
    OnPage("traps", COMPILER_TRAP, words=f"line 3.*{PUT_BY_COMPILER}", verdict="a defect"),
    OnPage("asserts", ASSERT, words=f"line 3.*{ASSERTED}", verdict="a defect"),
    OnPage("null pointer", NULL, words=f"line 3.*{NULL_POINTER}", verdict="a defect"),
)

HOSTILE = "tests/page/test_story.py::test_a_hostile_kernel_ends_with_its_verdict_and_the_next_run_is_right"
DRILLS = {
    ("missing share", "api"): "tests/bad_input/test_api.py::test_a_missing_share",
    ("broker away", "api"): "tests/bad_input/test_api_disturbed.py::test_the_broker_is_away",
    ("database locked", "api"): "tests/bad_input/test_api_disturbed.py::test_the_database_is_locked",
    ("disk full", "api"): "tests/bad_input/test_api_disturbed.py::test_the_disk_is_full",
    ("worker of another version", "api"): "tests/bad_input/test_api_disturbed.py::test_a_worker_of_another_version",
    ("broker away", "command line"): "tests/bad_input/test_command_line.py::test_serve_says_that_the_broker_is_away",
    ("disk full", "command line"): "tests/bad_input/test_command_line.py::test_the_disk_is_full",
    ("kernel that never ends", "page"): HOSTILE,
    ("printf flood", "page"): HOSTILE,
    ("compile bomb", "page"): HOSTILE,
    ("10 MB source", "page"): "tests/page/test_bad_input.py::test_a_file_that_is_no_source",
    ("NUL in source", "page"): "tests/page/test_bad_input.py::test_a_file_that_is_no_source",
    ("wrong .npy", "page"): "tests/page/test_bad_input.py::test_a_file_that_is_no_array",
    ("huge .npy", "page"): "tests/page/test_bad_input.py::test_a_file_that_is_no_array",
    ("missing share", "page"): "tests/page/test_shell.py::test_a_wrong_link_is_told",
    ("broker away", "page"): "tests/page/test_bad_input.py::test_the_broker_goes_away_in_mid_run",
    ("database locked", "page"): "tests/page/test_bad_input.py::test_the_database_is_locked",
    ("disk full", "page"): "tests/page/test_bad_input.py::test_the_disk_is_full",
    ("two tabs", "page"): "tests/page/test_bad_input.py::test_two_tabs_lose_nothing",
    ("worker of another version", "page"): "tests/page/test_bad_input.py::test_a_worker_of_another_version",
    ("browser offline", "page"): "tests/page/test_bad_input.py::test_the_browser_goes_offline",
}

NOT_MET = {
    ("missing share", "command line"): "it opens no links",
    ("non-finite JSON", "command line"): "it reads no JSON; nan and inf are values of an argument there",
    ("database locked", "command line"): "`warpyard run` opens no database",
    ("two tabs", "command line"): "it has no tabs, and two commands share nothing but the compile cache",
    ("worker of another version", "command line"): "`warpyard run` has no worker: it is its own",
    ("browser offline", "command line"): "it has no browser",
    ("two tabs", "api"): "a tab is a client as any other",
    ("browser offline", "api"): "a client that goes away resumes from Last-Event-ID: tests/app/test_events.py",
    ("wrong argument count", "page"): "the form has one row for each parameter of the kernel, no more and no fewer",
    ("non-finite JSON", "page"): "the form writes nan and inf as text, as the protocol has them",
    ("unknown option", "page"): "the form offers the options that there are",
}
