"""Which forms are tested and with which sources: every row, every choice of each of its slots."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from emulator.isa import Form, Row, rows
from emulator.isa.notation import Notation, Position
from emulator.isa.table import find, fit

from .vectors import COUNT, matrix_vector, vector


@dataclass(frozen=True)
class Case:
    """One form with the literal sources it has."""

    form: Form
    constants: tuple[tuple[int, int], ...] = ()
    positions: tuple[Position, ...] = ()
    active: bool = False  # whether a mask of active lanes is the last source array

    @property
    def name(self) -> str:
        literals = "".join(f" {position}={value}" for position, value in self.constants)
        shape = f"{len(self.form.destinations)}<{len(self.form.sources)}"
        return f"{self.form.name} {shape}{literals}"

    def sources(self) -> list[np.ndarray]:
        """The bits of every source that is no literal."""
        if self.form.opcode == "mma":
            return [matrix_vector(kind, i) for i, kind in enumerate(self.form.sources)]
        fixed = {position for position, _ in self.constants}
        arrays = [vector(t, i) for i, t in enumerate(self.form.sources) if i not in fixed]
        if self.form.opcode in ("fma", "mad") and self.form.type in ("f32", "f64", "f16", "bf16"):
            arrays[2] = _cancelling(arrays, self.form.type)
        if self.active:
            active = active_lanes()
            if arrays:  # the last source is the mask of members: all that are active
                words = (active.reshape(-1, 32).astype("u4") << np.arange(32, dtype="u4")).sum(axis=1, dtype="u4")
                arrays[-1] = np.repeat(words, 32)
            arrays.append(active)
        return arrays


def active_lanes() -> np.ndarray:
    """One byte a lane: warps with all lanes, then sparser and sparser ones; lane 0 or a later one is active."""
    random = np.random.Generator(np.random.PCG64(99)).random(COUNT)
    warp = np.arange(COUNT) // 32
    active = (random < 1.0 - warp / (COUNT // 32)).astype("u1")
    active[5::32] = 1
    active[: 4 * 32] = 1
    return active


def _cancelling(arrays: list[np.ndarray], kind: str) -> np.ndarray:
    """The third source, in every fourth lane the negated rounded product of the others."""
    a, b, c = arrays
    if kind in ("f32", "f64"):
        with np.errstate(all="ignore"):
            product = -(
                a.view(kind.replace("f32", "f4").replace("f64", "f8")) * b.view({"f32": "f4", "f64": "f8"}[kind])
            )
        return np.where(np.arange(COUNT) % 4 == 1, product.view(c.dtype), c)
    return c


def covering(notation: Notation) -> list[tuple[str, ...]]:
    """Spellings such that every choice of every slot, absence included, occurs, alone and with the others."""
    slots = [((None,) if slot.optional else ()) + slot.choices for slot in notation.slots]
    longest = max((len(choices) for choices in slots), default=1)
    result = []
    for step in range(longest * 2):
        shift = step // longest
        chosen = [choices[(step + shift * index) % len(choices)] for index, choices in enumerate(slots)]
        spelling = tuple(part for part in chosen if part is not None)
        if spelling not in result:
            result.append(spelling)
    return result


def shapes(row: Row) -> list[tuple[int, ...]]:
    """The operand shapes that a row accepts: with and without its optional operands."""
    result: list[tuple[int, ...]] = []
    positions = row.notation.positions or ()
    for full in (True, False):
        shape: list[int] = []
        for position in positions:
            if position.optional and not full:
                continue
            if position.paired:
                shape[-1] = -1
                continue
            shape.append(len(position.elements) if position.vector else 0)
        if tuple(shape) not in result:
            result.append(tuple(shape))
    return result


_LITERALS = {"lop3": (3, (0xCA, 0x96, 0x1D, 0x80))}


def cases(row: Row, everything: bool = False) -> list[Case]:
    """The cases of one row of lane-wise arithmetic."""
    found: list[Case] = []
    spellings = row.notation.spellings() if everything else covering(row.notation)
    for spelling in spellings:
        for shape in shapes(row):
            form = find(row.notation.opcode, spelling, shape)
            assert isinstance(form, Form), (row.notation.text, spelling, shape, form)
            if form.row is not row:
                continue
            if form.opcode in ("setp", "set"):
                combines = bool(form.pick("and", "or", "xor"))
                if combines != (form.sources[-1] == "pred"):
                    continue
            positions = fit(row.notation.positions or (), shape) or ()
            position, values = _LITERALS.get(form.opcode, (0, ()))
            if values:
                found.extend(Case(form, ((position, value),), positions) for value in values)
            else:
                found.append(Case(form, (), positions))
            if form.opcode == "prmt":
                found.extend(Case(form, ((2, value),), positions) for value in (0x7531, 0xFEDC, 0x1))
    return found


def all_cases(everything: bool = False) -> list[Case]:
    return [case for row in rows() if row.kind == "alu" for case in cases(row, everything)]


def warp_cases() -> list[Case]:
    """Shuffles with literal and with per-lane sources; votes, matches and reductions of partly active warps."""
    found = []
    for row in rows():
        if row.kind != "warp" or row.notation.opcode == "wmma":
            continue  # the layout of wmma's fragments is each implementation's own
        if "sp|" in row.notation.text:
            continue  # sparse_plan.py has the metadata
        for spelling in row.notation.spellings():
            if "sync" not in spelling and row.notation.opcode in ("shfl", "vote"):
                continue  # refused from sm_70 on; the same code as the `.sync` form
            for shape in shapes(row):
                form = find(row.notation.opcode, spelling, shape)
                assert isinstance(form, Form)
                positions = fit(row.notation.positions or (), shape) or ()
                if form.opcode == "shfl":
                    for literals in (
                        ((1, 1), (2, 31)),
                        ((1, 16), (2, 31)),
                        ((1, 3), (2, 0x181F)),
                        ((1, 2), (2, 0)),
                        ((2, 0x1C1F),),
                        (),
                    ):
                        found.append(Case(form, (*literals, (3, -1)), positions))
                else:
                    whole = form.opcode in ("mma", "movmatrix")
                    found.append(Case(form, (), positions, active=not whole))
    return found


# Scopes, orders and hints, which change no result.
_PLAIN = {"cta", "cluster", "gpu", "sys", "relaxed", "acquire", "release", "acq_rel", "L2::cache_hint"}


def atomic_cases() -> list[Case]:
    """One thread an address; the memory's old value is the first source, its new value the destination."""
    found = []
    for row in rows():
        if row.kind != "atomic":
            continue
        for spelling in row.notation.spellings():
            if "global" not in spelling or not _PLAIN.isdisjoint(spelling):
                continue
            size = next((int(part[1:]) for part in spelling if part in ("v2", "v4", "v8")), 0)
            form = find(row.notation.opcode, spelling, (size, 0, size) if row.notation.opcode == "atom" else (0, size))
            assert isinstance(form, Form)
            count = 3 if form.has("cas") else 2
            found.append(Case(replace(form, destinations=(form.type,), sources=(form.type,) * count)))
    return found


def every_case() -> list[Case]:
    return [*all_cases(everything=True), *warp_cases(), *atomic_cases()]


def approximate(form: Form) -> bool:
    """Whether the manual leaves the last bits of the result open."""
    return form.has("approx") or form.has("full")


def digest(case: Case, results: list[np.ndarray]) -> str:
    """A short digest of all results of a case, inactive lanes left out."""
    hashed = hashlib.sha256()
    active = case.sources()[-1].astype(bool) if case.active else np.ones(COUNT, bool)
    for result in results:
        hashed.update(result[active].tobytes())
    return hashed.hexdigest()[:12]
