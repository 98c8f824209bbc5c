"""Exports a run as a program of one file that needs no Warpyard: a CuPy script or a CUDA C++ program."""

from takeaway.program import NotExportable
from takeaway.writing import FORMATS, Export, Format, export

__all__ = ["FORMATS", "Export", "Format", "NotExportable", "export"]
