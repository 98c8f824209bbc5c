"""Headers of the host's C++ library that kernels include: small ones kept in memory, and why others cannot exist."""

from __future__ import annotations

from engine.languages.headers.explained import explain_missing, only_for_hosts
from engine.languages.headers.provided import HEADERS

__all__ = ["HEADERS", "explain_missing", "only_for_hosts"]
