"""Compiles kernels and launches them, in the process that the sandbox confines."""

from __future__ import annotations


def toolchain(language_name: str = "cuda-c++") -> str:
    """The compiler of a language and its version, such as 'NVRTC 13.0'."""
    from engine.languages import language

    return language(language_name).toolchain
