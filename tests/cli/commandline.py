"""What the tests of the commands share: the checkout, a kernel, the type of the fixture `warpyard`."""

import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
Warpyard = Callable[..., "subprocess.CompletedProcess[str]"]

SAXPY = """\
// y = a x + y
__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0)
        printf("n is %d\\n", n);
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""
