"""`warpyard attack` on folders of one's own: what is held, what gets through, what is not run, what is refused."""

import json
from pathlib import Path

import pytest

from cli.attacks.bodies import bodies
from cli.attacks.corpus import GotThrough, load
from cli.usage import Refused
from tests.cli.commandline import ROOT, Warpyard

HEADER = "id\tclass\tjob\tfile\tattempt\texpect\tcheck\n"
CORPUS = ROOT / "tests" / "data" / "attacks"

# file, its text, job, expected ends, held?, verdict or words of why
CASES = [
    ("quiet.py", "print('nothing')", "py", "ok", True, "ok"),
    ("shout.py", "print('PWNED')", "py", "ok", False, "PWNED in "),
    ("whisper.py", "emit({'CANARY': 1}, b'')", "py", "ok", False, "CANARY in "),
    ("early.py", "print(1)", "py", "limit:wall|limit:cpu", False, "it ended with ok, expected limit:wall or limit:cpu"),
    ("died.py", "import os; os.kill(os.getpid(), 9)", "py", "signal", True, "signal:SIGKILL"),
    ("broken.cu", "__global__ void k( {", "cu", "compile-error", True, "compile-error"),
    ("fine.cu", "__global__ void k(int *a) { a[0] = 1; }", "cu", "error", False, "it ended with ok, expected error"),
    ("grid.json", '{"grid": [-1, NaN, 1e400]}', "request", "4xx", True, "4xx"),
    ("good.json", '{"grid": [1, 1, 1], "source": "' + "int x;" + '"}', "request", "4xx", False, "was accepted"),
    ("main.cu", "int main() {}", "prog", "ok", None, "whole programs"),
]


@pytest.mark.service
def test_what_is_held_and_what_gets_through(warpyard: Warpyard, tmp_path: Path) -> None:
    rows = []
    for name, text, job, expect, _, _ in CASES:
        (tmp_path / name).write_text(text)
        rows.append(f"{Path(name).stem}\tx\t{job}\t{name}\tsomething\t{expect}\tstd\n")
    (tmp_path / "attacks.tsv").write_text(HEADER + "".join(rows))
    done = warpyard("attack", str(tmp_path), "--json", str(tmp_path / "report.json"))
    assert done.returncode == 1, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    for name, _, _, _, held, words in CASES:
        stem = Path(name).stem
        if held is None:
            assert words in report["not_run"][stem]
            continue
        case = report["cases"][stem]
        assert (case["held"], words in f"{case['verdict']}{case['why']}") == (held, True), case
    wanted = [held for *_, held, _ in CASES]
    counts = (report["mode"], report["held"], report["of"])
    assert counts == ("strong", wanted.count(True), wanted.count(True) + wanted.count(False))
    assert done.stdout.splitlines()[-1] == "4 of 9 held in strong mode, 1 not run"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, "attacks.tsv: No such file or directory"),
        ("id\tjob\n", "its columns must be id, class, job, file, attempt, expect, check"),
        (HEADER, "no attack in it"),
        (HEADER + "a\tx\tpy\ta.py\tt\tok\tstd\n" * 2, "a is there twice"),
        (HEADER + "a\tx\tpy\tb.py\tt\tok\tstd\n", "line 2: no file b.py beside the table"),
        (HEADER + "a\tx\tpy\t../a.py\tt\tok\tstd\n", "line 2: no file ../a.py beside the table"),
        (HEADER + "a\tx\tsh\ta.py\tt\tok\tstd\n", "line 2: job is sh; known are py, cu, request, prog"),
        (HEADER + "a\tx\tpy\ta.py\tt\n", "line 2: no expect"),
        (HEADER + "a\tx\tpy\ta.py\tt\tok\tstd\tmore\n", "line 2: more columns than the header has"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(tmp_path: Path, table: str | None, message: str) -> None:
    (tmp_path / "a.py").touch()
    if table is not None:
        (tmp_path / "attacks.tsv").write_text(table)
    with pytest.raises(Refused) as refusal:
        load(tmp_path)
    assert message in str(refusal.value)


def test_old_bodies_become_requests_with_one_hostile_value() -> None:
    (made,) = bodies('{"language": "cuda", "args": ' + "[" * 20_000 + "]" * 20_000 + "}")
    assert (made[0], made[1].count("[" * 20_000)) == ("steps.0.arguments", 1)
    sizes = [body for _, body in bodies('{"buffers": [{"size": -1, "name": "a"}, {"size": 1e30}]}')]
    assert [json.loads(body)["buffers"][0]["shape"] for body in sizes] == [[-1], [1e30]]
    names = [json.loads(body)["source"]["file_name"] for _, body in bodies('{"files": {"a\\",b": "x", "..": "y"}}')]
    assert names == ['a",b', ".."]
    ((field, unknown),) = bodies('{"env": {"A": "b"}}')
    assert (field, json.loads(unknown)["env"]) == ("env", {"A": "b"})
    for text in ("[]", "{", '{"a"}', ""):
        with pytest.raises(GotThrough):
            list(bodies(text))


def test_every_request_of_the_corpus_can_be_rewritten() -> None:
    for attack in load(CORPUS):
        if attack.job == "request" and attack.id not in ("rq15_ws_flood", "rq16_cancel_race"):
            assert list(bodies(attack.source.decode())), attack.id
