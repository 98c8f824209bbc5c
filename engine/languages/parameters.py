"""What the parameters of a kernel are, from the debug information: names, types as written, element types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.languages import dwarf
from engine.languages.dwarf import DebugInfo, Entry
from protocol.dtypes import ITEM_BYTES
from protocol.kernel import Parameter, ParameterKind

_MAX_DEPTH = 32
_QUALIFIERS = {dwarf.CONST_TYPE: "const", dwarf.VOLATILE_TYPE: "volatile", dwarf.RESTRICT_TYPE: ""}
_POINTERS = {dwarf.POINTER_TYPE: "*", dwarf.REFERENCE_TYPE: "&", dwarf.RVALUE_REFERENCE_TYPE: "&&"}
_RECORDS = {dwarf.STRUCTURE_TYPE, dwarf.CLASS_TYPE, dwarf.UNION_TYPE}
# DWARF 2, section 7.8: encodings of base types.
_BOOLEAN, _FLOAT, _SIGNED, _SIGNED_CHARACTER, _UNSIGNED, _UNSIGNED_CHARACTER = 2, 4, 5, 6, 7, 8

# Records of the CUDA headers that are numbers: name -> (element type, components).
_NUMBERS = {
    "__half": ("float16", 1),
    "__half2": ("float16", 2),
    "__nv_bfloat16": ("bfloat16", 1),
    "__nv_bfloat162": ("bfloat16", 2),
} | {
    f"{name}{components}": (dtype, components)
    for name, dtype in {
        "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32",
        "long": "int64", "ulong": "uint64", "longlong": "int64", "ulonglong": "uint64",
        "float": "float32", "double": "float64",
    }.items()
    for components in (1, 2, 3, 4)
} | {"dim3": ("uint32", 3)}  # fmt: skip
_COMPLEX = {
    "cuComplex": "complex64",
    "cuFloatComplex": "complex64",
    "cuDoubleComplex": "complex128",
    "complex<float>": "complex64",
    "complex<double>": "complex128",
}
# The compiler's own words where C++ has others.
_SPELLED = {"**128-BIT SIGNED INTEGER**": "__int128", "**128-BIT UNSIGNED INTEGER**": "unsigned __int128"}


@dataclass(frozen=True, slots=True)
class _Value:
    """A type without its qualifiers: what it holds and its size in bytes."""

    kind: ParameterKind
    dtype: str | None
    components: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the source: its parameters' names and types, and where it is declared."""

    name: str
    """As the debug information has it: with template arguments, without namespaces."""
    parameters: tuple[tuple[str, Entry | None], ...]
    file: int
    line: int


@dataclass(slots=True)
class ParameterReader:
    """Describes the functions of one module."""

    info: DebugInfo
    functions: dict[str, Function] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in self.info.functions():
            linkage = entry.text(dwarf.MIPS_LINKAGE_NAME) or entry.text(dwarf.LINKAGE_NAME) or entry.text(dwarf.NAME)
            parameters = tuple(
                (child.text(dwarf.NAME), self.info.target(child))
                for child in entry.children
                if child.tag == dwarf.FORMAL_PARAMETER
            )
            self.functions[linkage] = Function(
                entry.text(dwarf.NAME), parameters, entry.number(dwarf.DECL_FILE), entry.number(dwarf.DECL_LINE)
            )

    def parameters(self, linkage_name: str, layout: Sequence[tuple[int, int]]) -> tuple[Parameter, ...] | None:
        """The parameters of an entry, whose (offset, bytes) the object code gives; None where they do not agree."""
        function = self.functions.get(linkage_name)
        if function is None or len(function.parameters) != len(layout):
            return None
        names: list[str] = []
        result = []
        for (name, kind), (offset, size) in zip(function.parameters, layout, strict=True):
            # The members of a parameter pack share one name, and a parameter need not have any.
            unique = name or f"parameter_{len(names)}"
            if names.count(unique) or [other for other, _ in function.parameters].count(name) > 1:
                unique = f"{unique}_{len(names)}"
            names.append(unique)
            result.append(self._parameter(unique, kind, offset, size))
        return tuple(result)

    def _parameter(self, name: str, entry: Entry | None, offset: int, size: int) -> Parameter:
        written = self.spelled(_without_top_qualifiers(self.info, entry))
        bare = self._bare(entry)
        if bare is not None and bare.tag in _POINTERS:
            target = self.info.target(bare)
            pointee = self._value(target)
            return Parameter(
                name=name,
                type=written,
                kind="pointer",
                dtype=pointee.dtype,  # type: ignore[arg-type]
                components=pointee.components,
                const=self._is_const(target),
                bytes=size,
                offset=offset,
            )
        value = self._value(entry)
        return Parameter(
            name=name,
            type=written,
            kind=value.kind,
            dtype=value.dtype,  # type: ignore[arg-type]
            components=value.components,
            bytes=size,
            offset=offset,
        )

    def spelled(self, entry: Entry | None, depth: int = 0) -> str:
        """The type as C++, such as 'const float *'."""
        if entry is None:
            return "void"
        if depth > _MAX_DEPTH:
            return "…"
        target = self.info.target(entry)
        if entry.tag in _QUALIFIERS:
            inner = self.spelled(target, depth + 1)
            word = _QUALIFIERS[entry.tag]
            if not word:
                return inner
            return f"{inner} {word}" if target is not None and target.tag in _POINTERS else f"{word} {inner}"
        if entry.tag in _POINTERS:
            if target is not None and target.tag == dwarf.SUBROUTINE_TYPE:
                return self._function_pointer(target, depth)
            inner = self.spelled(target, depth + 1)
            return f"{inner}{'' if inner.endswith(('*', '&')) else ' '}{_POINTERS[entry.tag]}"
        if entry.tag == dwarf.ARRAY_TYPE:
            return f"{self.spelled(target, depth + 1)}[]"
        name = entry.text(dwarf.NAME)
        return _SPELLED.get(name, name) or "(unnamed)"

    def _function_pointer(self, entry: Entry, depth: int) -> str:
        arguments = [
            self.spelled(self.info.target(child), depth + 1)
            for child in entry.children
            if child.tag == dwarf.FORMAL_PARAMETER
        ]
        return f"{self.spelled(self.info.target(entry), depth + 1)} (*)({', '.join(arguments)})"

    def _value(self, entry: Entry | None) -> _Value:
        """What a type holds, looking through qualifiers and typedefs."""
        bare, name = entry, ""
        for _ in range(_MAX_DEPTH):
            if bare is None or bare.tag not in (*_QUALIFIERS, dwarf.TYPEDEF):
                break
            name = bare.text(dwarf.NAME)
            if name in _COMPLEX:
                return _Value("scalar", _COMPLEX[name], 1, ITEM_BYTES[_COMPLEX[name]])
            bare = self.info.target(bare)
        if bare is None:
            return _Value("unknown", None, 1, 0)
        size = bare.number(dwarf.BYTE_SIZE)
        if bare.tag in _POINTERS:
            return _Value("pointer", "uint64", 1, 8)
        if bare.tag == dwarf.BASE_TYPE:
            dtype = _base_type(bare.number(dwarf.ENCODING), size)
            return _Value("scalar" if dtype else "struct", dtype, 1, size)
        if bare.tag == dwarf.ENUMERATION_TYPE:
            return _Value("scalar", f"int{8 * size}" if size in (1, 2, 4, 8) else None, 1, size)
        if bare.tag in _RECORDS:
            record = bare.text(dwarf.NAME)
            dtype = _COMPLEX.get(record)
            if dtype is not None:
                return _Value("scalar", dtype, 1, size)
            number, components = _NUMBERS.get(record, (None, 1))
            # A record that is only pointed to may be declared without its size.
            if number is not None and size in (0, ITEM_BYTES[number] * components):
                half_alone = components == 1 and record.startswith("__")
                return _Value("scalar" if half_alone else "vector", number, components, size)
            return _Value("struct", None, 1, size)
        return _Value("unknown", None, 1, size)

    def _bare(self, entry: Entry | None) -> Entry | None:
        for _ in range(_MAX_DEPTH):
            if entry is None or entry.tag not in (*_QUALIFIERS, dwarf.TYPEDEF):
                return entry
            entry = self.info.target(entry)
        return None

    def _is_const(self, entry: Entry | None) -> bool:
        for _ in range(_MAX_DEPTH):
            if entry is None or entry.tag not in (*_QUALIFIERS, dwarf.TYPEDEF):
                return False
            if entry.tag == dwarf.CONST_TYPE:
                return True
            entry = self.info.target(entry)
        return False


def _without_top_qualifiers(info: DebugInfo, entry: Entry | None) -> Entry | None:
    """A parameter that is itself const or volatile takes the same argument as one that is not."""
    for _ in range(_MAX_DEPTH):
        if entry is None or entry.tag not in _QUALIFIERS:
            break
        entry = info.target(entry)
    return entry


def _base_type(encoding: int, size: int) -> str | None:
    if encoding == _BOOLEAN:
        return "bool"
    if encoding == _FLOAT:
        return {4: "float32", 8: "float64"}.get(size)
    if size in (1, 2, 4, 8):
        if encoding in (_SIGNED, _SIGNED_CHARACTER):
            return f"int{8 * size}"
        if encoding in (_UNSIGNED, _UNSIGNED_CHARACTER):
            return f"uint{8 * size}"
    return None
