"""Landlock: refuse this process every file that is not listed, every TCP port and signals to outsiders."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

from sandbox import linux

_SYS_CREATE_RULESET, _SYS_ADD_RULE, _SYS_RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG, _MAKE_SYM = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 12
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

# EXECUTE is granted nowhere: it concerns execve only (mapping a library needs READ_FILE), and no job may exec.
_READ = _READ_FILE | _READ_DIR
_READ_WRITE = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SYM | _REFER | _TRUNCATE
_DEVICE = _READ_FILE | _WRITE_FILE
_DRIVEN = _DEVICE | _IOCTL_DEV


def abi() -> int:
    """The kernel's Landlock version; 0 where it has none."""
    try:
        return linux.syscall(_SYS_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_CREATE_RULESET_VERSION))
    except OSError:
        return 0


def _handled(version: int) -> tuple[int, int, int]:
    """Rights over files, TCP and scopes that a kernel of this ABI can refuse; we refuse them all."""
    files = (1 << 13) - 1
    if version >= 2:
        files |= _REFER
    if version >= 3:
        files |= _TRUNCATE
    if version >= 5:
        files |= _IOCTL_DEV
    bind_and_connect = 3 if version >= 4 else 0
    abstract_sockets_and_signals = 3 if version >= 6 else 0
    return files, bind_and_connect, abstract_sockets_and_signals


def restrict(
    readable: Iterable[str], writable: Iterable[str], devices: Iterable[str], driven: Iterable[str] = ()
) -> int:
    """Confine this thread and all it starts; returns the ABI used, 0 where the kernel has no Landlock.

    `driven`: devices that also take requests (ioctl). Call after no-new-privileges and while the process has one
    thread. Paths that do not exist are left out.
    """
    version = abi()
    if not version:
        return 0
    files, network, scopes = _handled(version)
    size = 8 if version < 4 else (16 if version < 6 else 24)
    attributes = ctypes.create_string_buffer(struct.pack("QQQ", files, network, scopes), 24)
    ruleset = linux.syscall(_SYS_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint(0))
    try:
        for paths, rights in ((readable, _READ), (writable, _READ_WRITE), (devices, _DEVICE), (driven, _DRIVEN)):
            for path in paths:
                _allow(ruleset, path, rights & files)
        linux.syscall(_SYS_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)
    return version


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    try:
        if not os.path.isdir(path):  # noqa: PTH112 - the file behind a path that only this process sees
            rights &= _FILE_RIGHTS
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, fd), 12)
        linux.syscall(
            _SYS_ADD_RULE,
            ctypes.c_int(ruleset),
            ctypes.c_int(_RULE_PATH_BENEATH),
            rule,
            ctypes.c_uint(0),
        )
    finally:
        os.close(fd)
