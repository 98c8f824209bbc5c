"""Reads CuPy's kernels out of pasted Python: parsed, never executed."""
