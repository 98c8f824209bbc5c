"""A folder of attacks: attacks.tsv, a row an attack, and the files that the rows name."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from cli.usage import Refused

Job = Literal["py", "cu", "request", "prog"]
_COLUMNS = ("id", "class", "job", "file", "attempt", "expect", "check")


class GotThrough(Exception):
    """What an attack achieved, or how its end differs from what the corpus expects."""


@dataclass(frozen=True)
class Attack:
    """One row. `expect` are the ends that count as held, or "any"; `check` is what else must hold, in words."""

    id: str
    kind: str
    job: Job
    path: Path
    attempt: str
    expect: tuple[str, ...]
    check: str

    @property
    def source(self) -> bytes:
        return self.path.read_bytes()

    def judge(self, verdict: str, weak: bool = False) -> None:
        """Raises GotThrough. Weak mode allows less: an attack that needs a file may end by an error of its own."""
        allowed = {*self.expect, *(["error"] if weak and "ok" in self.expect else [])}
        if "any" not in allowed and verdict.partition(":SIG")[0] not in allowed:
            raise GotThrough(f"it ended with {verdict}, expected {' or '.join(self.expect)}")


def demand(holds: object, otherwise: str) -> None:
    """Raises GotThrough."""
    if not holds:
        raise GotThrough(otherwise)


def load(folder: Path) -> list[Attack]:
    """Every row of the folder's table. Raises Refused, naming the row."""
    table = folder / "attacks.tsv"
    try:
        with table.open(encoding="utf-8", newline="") as lines:
            reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            if tuple(reader.fieldnames or ()) != _COLUMNS:
                raise Refused(f"{table}: its columns must be {', '.join(_COLUMNS)}")
            rows = [_attack(folder, reader.line_num, row) for row in reader]
    except OSError as error:
        raise Refused(f"{table}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise Refused(f"{table}: {error}") from error
    doubled = {row.id for row in rows if [other.id for other in rows].count(row.id) > 1}
    if not rows or doubled:
        raise Refused(f"{table}: {f'{min(doubled)} is there twice' if doubled else 'no attack in it'}")
    return rows


def _attack(folder: Path, line: int, row: dict[str, str | None]) -> Attack:
    where = f"{folder / 'attacks.tsv'}, line {line}"
    values = {name: row.get(name) for name in _COLUMNS}
    missing = [name for name, value in values.items() if not value]
    if missing or None in row:
        raise Refused(f"{where}: {f'no {missing[0]}' if missing else 'more columns than the header has'}")
    text = {name: str(value) for name, value in values.items()}
    path = folder / text["file"]
    if Path(text["file"]).name != text["file"] or not path.is_file():
        raise Refused(f"{where}: no file {text['file']} beside the table")
    for job in get_args(Job):
        if job == text["job"]:
            expect = tuple(part.strip() for part in text["expect"].split("|"))
            return Attack(text["id"], text["class"], job, path, text["attempt"], expect, text["check"])
    raise Refused(f"{where}: job is {text['job']}; known are {', '.join(get_args(Job))}")
