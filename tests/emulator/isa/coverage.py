"""How much of real PTX is supported: `python -m tests.emulator.isa.coverage TABLE.tsv…`.

A table has a form a line in its first column and the kernels that hold it in its second. Counts forms with a row,
forms of refused families, and what is left; weighted by the kernels that hold a form too.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

from emulator.isa.refused import refusal_of
from emulator.isa.table import rows


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


def is_supported(form: str) -> bool:
    opcode, *modifiers = form.split(".")
    return any(row.notation.opcode == opcode and row.notation.match(tuple(modifiers)) for row in rows())


def share(table: list[tuple[str, int]]) -> Share:
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


def read(path: Path) -> list[tuple[str, int]]:
    with path.open() as file:
        lines = list(csv.DictReader(file, delimiter="\t"))
    first = next(iter(lines[0]))
    return [(line[first], int(line["kernels"])) for line in lines]


def main() -> None:
    for name in sys.argv[1:]:
        found = share(read(Path(name)))
        forms, uses = found.percent
        print(f"{Path(name).name}: {forms:.2f} % of forms, {uses:.3f} % of uses by kernels; refused", found.refused[0])
        print("   neither supported nor refused by name:", ", ".join(found.unknown) or "nothing")


if __name__ == "__main__":
    main()
