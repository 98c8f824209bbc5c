"""Asks ptxas from which architecture and PTX version on it takes each row: `python -m tests.emulator.isa.targets`.

Writes tests/data/isa/targets.tsv: the row, the smallest target and version that take one of its spellings, the
smallest that take all of them, and the spellings that no target takes. Needs ptxas, but no GPU.
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
NEWEST = "9.0"
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120", "sm_120a")
VERSIONS = (
    "6.3",
    "6.4",
    "6.5",
    "7.0",
    "7.1",
    "7.4",
    "7.6",
    "7.8",
    "8.0",
    "8.1",
    "8.3",
    "8.4",
    "8.6",
    "8.7",
    "8.8",
    "9.0",
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


def main() -> None:
    by_row = kernels()
    entries = [entry for group in by_row.values() for entry in group]
    takes: dict[int, str] = {}
    for target in TARGETS:
        for index in accepted([*entries], target, NEWEST):
            takes.setdefault(index, target)
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
            lines.append(f"{text}\t-\t-\t-\t-\t{len(group)}")
            continue
        least, most = min(known), max(known)
        names = [TARGETS[least[0]], VERSIONS[least[1]], TARGETS[most[0]], VERSIONS[most[1]]]
        lines.append("\t".join([text, *names, str(len(group) - len(known))]))
    DATA.write_text("\n".join(lines) + "\n")
    print(len(lines), "rows;", sum(line.split("\t")[1] == "-" for line in lines), "that no target takes")


if __name__ == "__main__":
    main()
