"""Python kernels to PTX by Numba: the one step that executes a source's Python text, in a child of its own."""
