"""Formats what a kernel prints: C's printf over the packed arguments that `vprintf` is passed.

C's own `snprintf` formats each directive, so that the text is C's to the letter; what is C's to choose freely
(a directive that does not exist, an argument that is not there) is shown as it was written.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable

# flags, width, precision, length, conversion
_DIRECTIVE = re.compile(rb"%([-+ #0]*)(\*|\d*)(?:(\.)(\*|-?\d*))?(hh|h|ll|l|L|q|j|z|t)?(.)", re.DOTALL)
# A width or precision beyond this is cut: the kernel must not fill the host's memory with blanks.
WIDEST = 1 << 16

_LONG = frozenset({b"l", b"ll", b"q", b"j", b"z", b"t"})
_snprintf = ctypes.CDLL(None).snprintf
_snprintf.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p)
_snprintf.restype = ctypes.c_int


class _Arguments:
    """Takes the arguments one by one; each lies at the next multiple of its size."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        self._read = read
        self._offset = 0

    def take(self, code: str) -> int | float:
        size = struct.calcsize(code)
        at = -(-self._offset // size) * size
        value: int | float = struct.unpack(code, self._read(at, size))[0]
        self._offset = at + size
        return value


def format_printf(template: bytes, read: Callable[[int, int], bytes], string: Callable[[int], bytes]) -> str:
    """The text that `printf(template, …)` writes.

    `read(offset, size)` returns bytes of the argument buffer and raises LookupError where there are none;
    `string(address)` returns the bytes of a C string. Text that is not UTF-8 is shown with replacement characters.
    """
    arguments = _Arguments(read)
    text = bytearray()
    end = 0
    for directive in _DIRECTIVE.finditer(template):
        text += template[end : directive.start()]
        end = directive.end()
        text += _format(directive, arguments, string)
    return bytes(text + template[end:]).decode(errors="replace")


def _format(directive: re.Match[bytes], arguments: _Arguments, string: Callable[[int], bytes]) -> bytes:
    flags, width, dot, precision, length, conversion = (part or b"" for part in directive.groups())
    if conversion == b"%":
        return b"%"
    try:
        head = b"%" + flags + _number(width, arguments)
        if dot:
            digits = _number(precision, arguments)
            # A negative precision counts as none.
            head += b"" if digits.startswith(b"-") else b"." + digits
        if conversion in b"diouxX":
            wide = length in _LONG
            value = arguments.take("<q" if wide else "<i")
            if wide:
                return _c(head + b"ll" + conversion, ctypes.c_longlong(int(value)))
            short = length if length in (b"h", b"hh") else b""
            return _c(head + short + conversion, ctypes.c_int(int(value)))
        if conversion in b"eEfFgGaA":
            return _c(head + conversion, ctypes.c_double(arguments.take("<d")))
        if conversion == b"c" and not length:
            return _c(head + b"c", ctypes.c_int(int(arguments.take("<i"))))
        if conversion == b"p":
            return _c(head + b"p", ctypes.c_void_p(int(arguments.take("<Q"))))
        if conversion == b"s" and not length:
            address = int(arguments.take("<Q"))
        else:
            return directive.group()
    except LookupError:
        return directive.group()
    # Outside the try: a string at a bad address is the kernel's fault, to be reported as one.
    return _c(head + b"s", ctypes.c_char_p(string(address)))


def _number(digits: bytes, arguments: _Arguments) -> bytes:
    """A width or precision in digits; `*` takes it from the arguments."""
    if not digits:
        return b""
    value = int(arguments.take("<i")) if digits == b"*" else int(digits)
    return b"%d" % max(-WIDEST, min(value, WIDEST))


def _c(directive: bytes, value: object) -> bytes:
    """One directive formatted by C."""
    size = 512
    while True:
        buffer = ctypes.create_string_buffer(size)
        needed: int = _snprintf(buffer, size, directive, value)
        if needed < 0:
            return directive
        if needed < size:
            return buffer.raw[:needed]
        size = needed + 1
