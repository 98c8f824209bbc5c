"""How much of real PTX is supported: `python -m tests.emulator.isa.coverage [TABLE.tsv…]`.

A table has a form a line in its first column and the kernels that hold it in its second. Counts forms with a row,
forms of refused families, and what is left; weighted by the kernels that hold a form too. Without tables it is those
of tests/data/isa, which are of 3,694 kernels of 752 public projects, by nvcc 13.0 for sm_90.

How many kernels are supported wholly, such tables bound: at least as many hold something refused as hold the refused
form that most hold, and at most as many as hold all of them together. A table of families (forms without types and
what else varies) counts a kernel once for all forms of a family, which makes both bounds tighter. What is called is not
in the tables: of the 752 projects five launch kernels from kernels, by calls of functions that do not exist here.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

from emulator.isa.refused import refusal_of
from emulator.isa.table import rows

DATA = Path(__file__).parents[2] / "data" / "isa"
OPCODES, FAMILIES = DATA / "real_opcodes.tsv", DATA / "real_families.tsv"
Table = list[tuple[str, int]]


@dataclass(frozen=True)
class Share:
    """Of a table: forms and uses (form × kernel) that are supported, refused by family, and unknown."""

    supported: tuple[int, int]
    refused: tuple[int, int]
    unknown: tuple[str, ...]

    @property
    def percent(self) -> tuple[float, float]:
        whole = [a + b for a, b in zip(self.supported, self.refused, strict=True)]
        return tuple(100 * a / max(1, b) for a, b in zip(self.supported, whole, strict=True))  # type: ignore[return-value]


@dataclass(frozen=True)
class Wholly:
    """Of `kernels` as many as hold nothing but forms with a row: at least `least`, at most `most`."""

    kernels: int
    least: int
    most: int

    @property
    def percent(self) -> tuple[float, float]:
        return 100 * self.least / self.kernels, 100 * self.most / self.kernels


def is_supported(form: str) -> bool:
    opcode, *modifiers = form.split(".")
    return any(row.notation.opcode == opcode and row.notation.match(tuple(modifiers)) for row in rows())


def share(table: Table) -> Share:
    supported, refused, unknown = [0, 0], [0, 0], []
    for form, kernels in table:
        opcode, *modifiers = form.split(".")
        if is_supported(form):
            counts = supported
        else:
            counts = refused
            if refusal_of(opcode, tuple(modifiers)) is None:
                unknown.append(form)
        counts[0] += 1
        counts[1] += kernels
    return Share((supported[0], supported[1]), (refused[0], refused[1]), tuple(unknown))


def wholly(opcodes: Table, families: Table) -> Wholly:
    """Bounds from both tables of the same kernels; every kernel holds the form that most of them hold."""
    kernels = max(count for _, count in opcodes)
    refused = {form: count for form, count in opcodes if not is_supported(form)}
    of_families = {family: count for family, count in families if _is_refused(family)}
    by_form, by_family = list(refused.values()), list(of_families.values())
    told = {form.split(".")[0] for form in refused} <= {family.split(".")[0] for family in of_families}
    without = min(sum(by_form), sum(by_family)) if told else sum(by_form)
    return Wholly(kernels, kernels - without, kernels - max([*by_form, *by_family], default=0))


def _is_refused(family: str) -> bool:
    opcode, *modifiers = family.split(".")
    return refusal_of(opcode, tuple(modifiers)) is not None and opcode not in {row.notation.opcode for row in rows()}


def read(path: Path) -> Table:
    with path.open() as file:
        lines = list(csv.DictReader(file, delimiter="\t"))
    first = next(iter(lines[0]))
    return [(line[first], int(line["kernels"])) for line in lines]


def main() -> None:
    for path in [Path(name) for name in sys.argv[1:]] or [OPCODES]:
        found = share(read(path))
        forms, uses = found.percent
        print(f"{path.name}: {forms:.2f} % of forms, {uses:.3f} % of uses by kernels; refused", found.refused[0])
        print("   neither supported nor refused by name:", ", ".join(found.unknown) or "nothing")
        families = read(FAMILIES) if path == OPCODES else []
        whole = wholly(read(path), families)
        percent = "{:.2f} to {:.2f} %".format(*whole.percent)
        print(f"   kernels wholly supported: {whole.least} to {whole.most} of {whole.kernels}, {percent}")


if __name__ == "__main__":
    main()
