"""CUDA C++ for CuPy's ElementwiseKernel and ReductionKernel, as their documentation says what they do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

# dtype as CuPy's parameter lists have it -> the dtype of a buffer, and C++.
TYPES: dict[str, tuple[str, str]] = {
    "bool": ("bool", "bool"), "bool_": ("bool", "bool"),
    "int8": ("int8", "signed char"), "uint8": ("uint8", "unsigned char"),
    "int16": ("int16", "short"), "uint16": ("uint16", "unsigned short"),
    "int32": ("int32", "int"), "uint32": ("uint32", "unsigned int"),
    "int64": ("int64", "long long"), "uint64": ("uint64", "unsigned long long"),
    "float16": ("float16", "__half"), "float32": ("float32", "float"), "float64": ("float64", "double"),
    "int": ("int32", "int"), "float": ("float32", "float"), "double": ("float64", "double"),
}  # fmt: skip
_PARAMETER = re.compile(r"(?P<raw>raw\s+)?(?P<type>\w+)\s+(?P<name>[A-Za-z_]\w*)")
_PLACEHOLDER = re.compile(r"[A-Z]")


class Unreadable(Exception):
    """The text gives a kernel that has no counterpart here; the message says which part of it."""


@dataclass(frozen=True, slots=True)
class Item:
    """One of a kernel's parameters: `kind` is array, raw or number."""

    name: str
    type: str
    """As written: a dtype, or one letter that stands for one."""
    kind: str

    def dtype(self, letters: Mapping[str, str]) -> str:
        return TYPES[letters.get(self.type, self.type)][0]

    def cpp(self, letters: Mapping[str, str]) -> str:
        return self.type if self.type in letters else TYPES[self.type][1]


def parameters(text: str) -> list[Item]:
    """A list such as 'float32 x, raw T y'. Unreadable."""
    found = []
    for part in filter(str.strip, text.split(",")):
        match = _PARAMETER.fullmatch(part.strip())
        if match is None:
            raise Unreadable(f"'{part.strip()[:60]}' is no parameter such as float32 x, raw T y")
        if match["type"] not in TYPES and not _PLACEHOLDER.fullmatch(match["type"]):
            raise Unreadable(f"the type {match['type']} of {match['name']} has no buffer here")
        found.append(Item(match["name"], match["type"], "raw" if match["raw"] else "array"))
    return found


def letters_of(items: Iterable[Item], chosen: Mapping[str, str]) -> dict[str, str]:
    """A dtype for each letter: what a call gives, else float32."""
    return {item.type: chosen.get(item.type, "float32") for item in items if item.type not in TYPES}


def elementwise(
    name: str,
    inputs: Sequence[Item],
    outputs: Sequence[Item],
    operation: str,
    letters: Mapping[str, str],
    preamble: str = "",
    loop_prep: str = "",
    after_loop: str = "",
) -> str:
    """A kernel of (inputs…, outputs…, _size), whose threads take the elements 0 to _size - 1 in a grid-stride loop."""
    items = [*inputs, *outputs]
    body = [_lines("    ", f"{loop_prep};") if loop_prep.strip() else ""]
    body.append("    for (long long i = _start; i < _size; i += _step) {\n")
    for item in items:
        if item.kind == "array":
            constant = "const " if item in inputs else ""
            body.append(f"        {constant}{item.cpp(letters)} &{item.name} = _{item.name}[i];\n")
    body += [_lines("        ", f"{operation};"), "    }\n"]
    body.append(_lines("    ", f"{after_loop};") if after_loop.strip() else "")
    return _head(items, letters, preamble, operation + loop_prep + after_loop) + _function(
        name, inputs, outputs, letters, f"    [[maybe_unused]] const _Indexer _ind{{_size}};\n{_THREADS}{''.join(body)}"
    )


def reduction(
    name: str,
    inputs: Sequence[Item],
    outputs: Sequence[Item],
    expressions: tuple[str, str, str],
    identity: str,
    reduce_type: str,
    letters: Mapping[str, str],
    preamble: str = "",
) -> str:
    """A kernel of (inputs…, outputs…, _size) for one block of a power of two: all elements to one of each output.

    `expressions`: map, reduce (of a and b), post-map (of a).
    """
    mapped, reduced, posted = expressions
    own = reduce_type or outputs[0].cpp(letters)
    own = TYPES[own][1] if own in TYPES else own
    items = [*inputs, *outputs]
    loads = "".join(
        f"        const {item.cpp(letters)} &{item.name} = _{item.name}[i];\n"
        for item in inputs
        if item.kind == "array"
    )
    results = "".join(
        f"        {item.cpp(letters)} &{item.name} = _{item.name}[0];\n" for item in outputs if item.kind == "array"
    )
    start = f"_Reduced({identity})" if identity else "_Reduced()"
    body = f"""    typedef {own} _Reduced;
    [[maybe_unused]] const _Indexer _in_ind{{_size}}, _ind{{_size}}, _out_ind{{1}};
    __shared__ char _memory[1024 * sizeof(_Reduced)];
    _Reduced *_shared = reinterpret_cast<_Reduced *>(_memory);
    _Reduced _sum = {start};
    auto _reduce = [](_Reduced a, _Reduced b) -> _Reduced {{ return ({reduced}); }};
    for (long long i = threadIdx.x; i < _size; i += blockDim.x) {{
{loads}        _sum = _reduce(_sum, static_cast<_Reduced>({mapped}));
    }}
    _shared[threadIdx.x] = _sum;
    for (int _half = blockDim.x / 2; _half > 0; _half /= 2) {{
        __syncthreads();
        if (threadIdx.x < _half)
            _shared[threadIdx.x] = _reduce(_shared[threadIdx.x], _shared[threadIdx.x + _half]);
    }}
    if (threadIdx.x == 0) {{
        const _Reduced a = _shared[0];
{results}{_lines("        ", f"{posted};")}    }}
"""
    return _head(items, letters, preamble, mapped + reduced + posted) + _function(name, inputs, outputs, letters, body)


_THREADS = """    const long long _start = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    const long long _step = gridDim.x * (long long)blockDim.x;
"""


def _head(items: Sequence[Item], letters: Mapping[str, str], preamble: str, code: str) -> str:
    for item in items:
        if item.kind == "raw" and re.search(rf"\b{item.name}\s*\.\s*(size|shape|strides|ndim)\b", code):
            raise Unreadable(f"{item.name} is raw and asked for its size or shape: give that as a parameter")
    half = any(TYPES[letters.get(item.type, item.type)][0] == "float16" for item in items)
    types = "".join(f"typedef {TYPES[dtype][1]} {letter};\n" for letter, dtype in letters.items())
    indexer = "struct _Indexer {\n    long long n;\n    __device__ long long size() const { return n; }\n};\n"
    begin = "#include <cuda_fp16.h>\n" if half else ""
    return "\n".join(
        part for part in (begin, types, indexer, f"{preamble.strip()}\n" if preamble.strip() else "") if part
    )


def _function(name: str, inputs: Sequence[Item], outputs: Sequence[Item], letters: Mapping[str, str], body: str) -> str:
    declared = [_declared(item, letters, constant=True) for item in inputs]
    declared += [_declared(item, letters, constant=False) for item in outputs]
    signature = ", ".join([*declared, "long long _size"])
    return f"\n__global__ void {name}({signature})\n{{\n{body}}}\n"


def _declared(item: Item, letters: Mapping[str, str], constant: bool) -> str:
    kind = item.cpp(letters)
    if item.kind == "number":
        return f"{kind} {item.name}"
    # Elements are bound to the parameter's own name inside the loop.
    shown = item.name if item.kind == "raw" else f"_{item.name}"
    return f"{'const ' if constant else ''}{kind} *{shown}"


def _lines(indent: str, code: str) -> str:
    import textwrap

    return textwrap.indent(textwrap.dedent(code).strip("\n"), indent) + "\n"
