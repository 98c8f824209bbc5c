"""Runs PTX on the CPU: text to a module, a module's entry to native code, and launches on an arena of memory."""

from emulator.prewarm import prewarm
from emulator.runtime.arena import Buffer, Memory, OutOfMemory
from emulator.runtime.compile import CompileProblems, InternalFailure, Options, compile_entry
from emulator.runtime.compiled import CompiledEntry
from emulator.runtime.faults import BufferRelation, Fault
from emulator.runtime.launch import check_arguments, launch, prepare
from emulator.runtime.prepared import Outcome, Prepared
from emulator.runtime.team import Team
from emulator.runtime.tiers import LaunchError, Loaded
from emulator.syntax import Module, Problem, SourceLocation, parse

__all__ = [
    "Buffer",
    "BufferRelation",
    "CompileProblems",
    "CompiledEntry",
    "Fault",
    "InternalFailure",
    "LaunchError",
    "Loaded",
    "Memory",
    "Module",
    "Options",
    "OutOfMemory",
    "Outcome",
    "Prepared",
    "Problem",
    "SourceLocation",
    "Team",
    "check_arguments",
    "compile_entry",
    "launch",
    "parse",
    "prepare",
    "prewarm",
]
