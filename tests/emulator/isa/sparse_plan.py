"""Which sparse products are measured, with which matrices, metadata and selectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator.isa import Form, rows
from emulator.isa.notation import Position
from emulator.isa.rows.sparse import selectors_of, sparse_product
from emulator.isa.sparsity import NIBBLES, PAIRS
from emulator.isa.table import find, fit
from emulator.isa.tensor import Product

from .matrix_inputs import FAMILIES, WARPS, matrices
from .matrix_plan import packed
from .plan import shapes


@dataclass(frozen=True)
class SparseCase:
    """A form with one selector and one family of matrices; the metadata are random but legal."""

    form: Form
    positions: tuple[Position, ...]
    selector: int
    family: str
    active: bool = False

    @property
    def name(self) -> str:
        return f"{self.form.name} {self.selector} {self.family}"

    @property
    def constants(self) -> tuple[tuple[int, int], ...]:
        return ((len(self.form.sources) - 1, self.selector),)

    @property
    def product(self) -> Product:
        return sparse_product(self.form, self.selector)

    def matrices(self) -> list[np.ndarray]:
        """A's stored elements, B and C."""
        product = self.product
        assert product.sparsity is not None
        k = product.sparsity.k
        found = matrices((*product.kinds, product.sums[1]), (16, k // 2), (k, 8), (16, 8), self.family)
        return list(found)

    def metadata(self) -> np.ndarray:
        random = np.random.Generator(np.random.PCG64(len(self.form.name) + self.selector))
        nibbles = np.array(NIBBLES.get(self.product.kinds[0], PAIRS), "u4")
        chosen = nibbles[random.integers(0, len(nibbles), (WARPS * 32, 8))]
        return (chosen << (4 * np.arange(8, dtype="u4"))).sum(axis=1, dtype="u4")

    def sources(self) -> list[np.ndarray]:
        product = self.product
        kinds = (*product.kinds, product.sums[1])
        found = zip((product.a, product.b, product.c), self.matrices(), kinds, strict=True)
        return [r for fragment, matrix, kind in found for r in packed(fragment, matrix, kind)] + [self.metadata()]


def sparse_cases() -> list[SparseCase]:
    """All families with ordered metadata and the first selector; one family with every other."""
    found = []
    for row in rows():
        if row.notation.opcode != "mma" or "sp|" not in row.notation.text:
            continue
        for spelling in row.notation.spellings():
            (shape,) = shapes(row)
            form = find("mma", spelling, shape)
            assert isinstance(form, Form)
            positions = fit(row.notation.positions or (), shape) or ()
            for selector in range(selectors_of(form) or 0):
                every = selector == 0 and "sp::ordered_metadata" in spelling
                found += [
                    SparseCase(form, positions, selector, family) for family in (FAMILIES if every else ("near",))
                ]
    return found
