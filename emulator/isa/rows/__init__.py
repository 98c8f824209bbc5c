"""The instruction table, one file a family."""

from __future__ import annotations

from emulator.isa.rows import (
    asynchronous,
    atomic,
    bits,
    compare,
    control,
    convert,
    floating,
    halves,
    integer,
    matrix,
    memory,
    move,
    narrow,
    sparse,
    video,
    warp,
)

ROWS = (
    *integer.ROWS,
    *video.ROWS,
    *floating.ROWS,
    *halves.ROWS,
    *compare.ROWS,
    *bits.ROWS,
    *move.ROWS,
    *convert.ROWS,
    *narrow.ROWS,
    *memory.ROWS,
    *asynchronous.ROWS,
    *atomic.ROWS,
    *warp.ROWS,
    *matrix.ROWS,
    *sparse.ROWS,
    *control.ROWS,
)
