"""Launches with attributes, cooperative ones and clusters, which CuPy's binding of the driver has no call for."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

_COOPERATIVE, _CLUSTER = 2, 4  # CUlaunchAttributeID
_NON_PORTABLE = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
PORTABLE_CLUSTER = 8
"""Blocks of a cluster that every GPU with clusters has room for."""


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute of cuda.h: an id, and a union of 64 bytes."""

    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_uint * 16)]


class _Config(ctypes.Structure):
    """CUlaunchConfig of cuda.h."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    ]


class AttributedLaunch:
    """The driver's cuLaunchKernelEx. OSError where there is no driver."""

    def __init__(self) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")

    def launch(
        self,
        function: int,
        grid: Sequence[int],
        block: Sequence[int],
        shared_bytes: int,
        pointers: int,
        cooperative: bool,
        cluster: Sequence[int] | None,
    ) -> int:
        """Enqueues a launch on the default stream; the driver's answer, 0 where it takes it.

        `pointers` is the address of an array of the arguments' addresses.
        """
        attributes: list[_Attribute] = []
        if cooperative:
            attributes.append(_Attribute(_COOPERATIVE, 0, (ctypes.c_uint * 16)(1)))
        if cluster is not None:
            attributes.append(_Attribute(_CLUSTER, 0, (ctypes.c_uint * 16)(*cluster)))
            if cluster[0] * cluster[1] * cluster[2] > PORTABLE_CLUSTER:
                status = int(self._driver.cuFuncSetAttribute(ctypes.c_void_p(function), _NON_PORTABLE, 1))
                if status:
                    return status
        table = (_Attribute * max(1, len(attributes)))(*attributes)
        config = _Config(
            (ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block), shared_bytes, None, table, len(attributes)
        )
        given = ctypes.c_void_p(pointers)
        return int(self._driver.cuLaunchKernelEx(ctypes.byref(config), ctypes.c_void_p(function), given, None))
