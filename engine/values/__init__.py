"""Arrays of a run: how buffers start, what is read back, and whether it is what was expected."""
