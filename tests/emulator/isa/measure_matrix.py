"""Runs every tested form of the tensor core on a real GPU: `python -m tests.emulator.isa.measure_matrix OUT`.

Writes digests of all results, and for every further argument the results of the forms whose names contain it.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np

from .matrix_inputs import FAMILIES, WARPS
from .matrix_plan import digest, matrix_cases, programs, transfers
from .measure import Driver, assemble, measure, module
from .sparse_plan import sparse_cases


class Kernels:
    """Entries of one module, run on arrays that are given and filled in."""

    def __init__(self, texts: list[str]) -> None:
        cubin, log = assemble(module(texts))
        if cubin is None:
            raise RuntimeError(log)
        self.driver = Driver()
        self.handle = ctypes.c_void_p()
        self.driver.check(self.driver.cuda.cuModuleLoadData(ctypes.byref(self.handle), cubin))
        self.pointers = [self.driver.allocate(1 << 20) for _ in range(4)]

    def run(self, entry: str, blocks: int, buffers: list[np.ndarray]) -> None:
        cuda, check, function = self.driver.cuda, self.driver.check, ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(function), self.handle, entry.encode()))
        for pointer, data in zip(self.pointers, buffers, strict=False):
            check(cuda.cuMemcpyHtoD_v2(pointer, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes)))
        arguments = (ctypes.c_void_p * len(buffers))(*[ctypes.addressof(p) for p in self.pointers[: len(buffers)]])
        check(cuda.cuLaunchKernel(function, blocks, 1, 1, 32, 1, 1, 0, None, arguments, None))
        check(cuda.cuCtxSynchronize())
        for pointer, data in zip(self.pointers, buffers, strict=False):
            check(cuda.cuMemcpyDtoH_v2(data.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(data.nbytes)))


def run_programs() -> dict[str, np.ndarray]:
    """D of each program and family as bytes, and the words that each transfer gives back."""
    planned, moves = programs(), transfers()
    texts = [p.text(f"k{i}") for i, p in enumerate(planned)] + [t.text(f"t{i}") for i, t in enumerate(moves)]
    kernels = Kernels(texts)
    results = {}
    for index, program in enumerate(planned):
        for family in FAMILIES:
            buffers = program.buffers(family)
            kernels.run(f"k{index}", WARPS, buffers)
            results[f"{program.name} {family}"] = buffers[3]
    for index, transfer in enumerate(moves):
        buffers = [transfer.given(), np.zeros(128, "u4")]
        kernels.run(f"t{index}", 1, buffers)
        results[transfer.name] = buffers[1]
    return results


def main() -> None:
    out = Path(sys.argv[1])
    cases = [*matrix_cases(), *sparse_cases()]
    found, refused = measure(cases)
    arrays = {
        case.name: [found[f"{case.name}#{number}"] for number in range(len(case.form.destinations))]
        for case in cases
        if case.name not in refused
    }
    arrays |= {name: [result] for name, result in run_programs().items()}
    lines = [f"{name}\t{digest(results)}" for name, results in arrays.items()]
    (out / "sm_90_matrix.tsv").write_text("\n".join(lines) + "\n")
    for part in sys.argv[2:]:
        kept = {name: np.stack(results) for name, results in arrays.items() if part in name}
        np.savez_compressed(out / f"{part}.npz", **kept)
    print(len(lines), "digests, refused:", refused)


if __name__ == "__main__":
    main()
