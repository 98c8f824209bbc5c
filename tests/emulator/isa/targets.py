"""Asks ptxas from which architecture and PTX version on it takes each row: `python -m tests.emulator.isa.targets`.

Writes tests/data/isa/targets.tsv: the row, the smallest target and version that take one of its spellings, the
smallest that take all of them, the spellings that no target takes, and the last version that takes one, where ptxas
has given them up. Needs ptxas of the newest version below, but no GPU.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from emulator.isa import rows

from .measure import kernel
from .plan import cases, warp_cases
from .statements import FRAME, products, statements

DATA = Path(__file__).parents[2] / "data" / "isa" / "targets.tsv"
NEWEST = "9.5"
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120", "sm_120a")
VERSIONS = (
    *("6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8"),
    *("8.0", "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8"),
    *("9.0", "9.1", "9.2", "9.3", "9.4", NEWEST),
)
_LINE = re.compile(r"line (\d+); (?:error|fatal)")


def kernels() -> dict[str, list[str]]:
    """The entries to try, named `NAME`, by the row's text."""
    found: dict[str, list[str]] = defaultdict(list)
    warp = {case.name: case for case in warp_cases()}
    for row in rows():
        text = row.notation.text
        if row.kind == "alu":
            found[text] = [kernel("NAME", case) for case in cases(row)]
        elif row.kind == "warp":
            found[text] = [kernel("NAME", case) for case in warp.values() if case.form.row is row][:40]
            if not found[text]:
                found[text] = [f".visible .entry NAME() {{ {line} ret; }}" for line in products(row)]
        else:
            found[text] = [
                f".visible .entry NAME(.param .u64 out) {{ {FRAME} {line} ret; }}" for _, line in statements(row)
            ]
    return {text: list(dict.fromkeys(entries)) for text, entries in found.items() if entries}


def accepted(entries: list[str], target: str, version: str) -> set[int]:
    """The indices of the entries that ptxas can read for a target."""
    left = dict(enumerate(entries))
    while left:
        lines = [f".version {version}", f".target {target}", ".address_size 64"]
        owner: dict[int, int] = {}
        for index, entry in left.items():
            for line in entry.replace("NAME", f"k{index}").splitlines():
                lines.append(line)
                owner[len(lines)] = index
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write("\n".join(lines))
            file.flush()
            virtual = target.replace("sm_", "compute_")
            command = ["ptxas", f"-arch={virtual}", file.name, "-o", "/dev/null"]
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return set(left)
        bad = {owner[int(number)] for number in _LINE.findall(done.stdout + done.stderr) if int(number) in owner}
        if not bad:
            raise RuntimeError(f"{target} {version}: {(done.stdout + done.stderr)[:300]}")
        for index in bad:
            left.pop(index, None)
    return set()


def _given_up(left: dict[int, str]) -> dict[int, str]:
    """The last version with which the smallest target takes entries that the newest version refuses."""
    found: dict[int, str] = {}
    for version in reversed(VERSIONS[:-1]):
        rest = [index for index in left if index not in found]
        good = accepted([left[index] for index in rest], TARGETS[0], version)
        found.update((rest[place], version) for place in good)
    return found


def main() -> None:
    by_row = kernels()
    entries = [entry for group in by_row.values() for entry in group]
    takes: dict[int, str] = {}
    for target in TARGETS:
        for index in accepted([*entries], target, NEWEST):
            takes.setdefault(index, target)
    until = _given_up({index: entry for index, entry in enumerate(entries) if index not in takes})
    takes |= dict.fromkeys(until, TARGETS[0])
    since: dict[int, str] = {}
    for target in TARGETS:
        mine = [index for index, first in takes.items() if first == target]
        for version in VERSIONS:
            rest = [index for index in mine if index not in since]
            try:
                good = accepted([entries[index] for index in rest], target, version)
            except RuntimeError:
                continue  # the target is younger than the version
            since.update((rest[place], version) for place in good)
    lines, start = [], 0
    for text, group in by_row.items():
        span = range(start, start + len(group))
        start += len(group)
        known = [(TARGETS.index(takes[i]), VERSIONS.index(since[i])) for i in span if i in takes]
        if not known:
            raise RuntimeError(f"no target takes {text}")
        least, most = min(known), max(known)
        names = [TARGETS[least[0]], VERSIONS[least[1]], TARGETS[most[0]], VERSIONS[most[1]]]
        last = max((VERSIONS.index(until.get(i, NEWEST)) for i in span if i in takes), default=0)
        lines.append("\t".join([text, *names, str(len(group) - len(known)), VERSIONS[last]]))
    DATA.write_text("\n".join(lines) + "\n")
    print(len(lines), "rows")


if __name__ == "__main__":
    main()
