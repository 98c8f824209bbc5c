"""How good the estimate is: its figures on an H200, which go wherever it is shown."""

from __future__ import annotations

MEASURED_GPU = "H200 SXM"
"""The only GPU that it has been judged on."""
TIMINGS, KERNELS = 235, 25
MEDIAN_ERROR, P90_ERROR = 1.18, 1.53
"""Ratio of estimate and measurement, whichever is greater over the other, for kernels that the fit had not seen."""
GOOD_SHAPES, SHAPED_KERNELS = 18, 19
"""Kernels whose recommended block shape is at most 10 % slower than the H200's best; those with several shapes."""
