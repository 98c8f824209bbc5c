"""Rows of memory access: what is legal; the code comes from the lowering, which knows addresses and masks."""

from __future__ import annotations

from emulator.isa.form import Form, row
from emulator.isa.lanes import Lanes, Value

_TYPE = "(b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64)"
_SPACE = "{.(global|shared|shared::cta|shared::cluster|local|const|param|param::entry|param::func)}"
_EVICT = "{.(L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate)}"
_L2 = "{.(L2::evict_normal|L2::evict_first|L2::evict_last)}{.L2::cache_hint}"
_PREFETCH = "{.(L2::64B|L2::128B|L2::256B)}"
_VECTOR = "{.(v2|v4|v8)}"
_SCOPE = "(cta|cluster|gpu|sys)"

_PRIMARY = {"L2::evict_unchanged": 0, "L2::evict_first": 2, "L2::evict_last": 4, "L2::evict_normal": 6}


def _policy(x: Lanes, f: Form, a: Value | None = None) -> Value:
    """The word that an H200 makes: how many sixteenths less one, the first priority, and whether others go first."""
    primary, *secondary = f.modifiers[1:-1]
    head = 0x10 + _PRIMARY[primary] + int(secondary == ["L2::evict_first"])
    if a is None:
        return x.const("i64", head << 56 | 15 << 52)
    parts = x.call("llvm.fptoui.sat", x.binary("fmul", a, x.const("float", 15.99)), type="i32", overloads=2)
    parts = x.resize(x.and_(parts, x.const("i32", 15)), "i64")
    return x.or_(x.const("i64", head << 56), x.shl(parts, x.const("i64", 52)))


ROWS = (
    row(
        f"ld{{.weak}}{_SPACE}{{.(ca|cg|cs|lu|cv)}}{_EVICT}{_L2}{_PREFETCH}{_VECTOR}.{_TYPE} …",
        "Loads a value or a vector; bytes and halves are extended by their type.",
        kind="memory",
    ),
    row(
        f"ld.global{{.(ca|cg|cs)}}.nc{_EVICT}{_L2}{_PREFETCH}{_VECTOR}.{_TYPE} …",
        "Loads through the read-only path.",
        kind="memory",
    ),
    row(
        f"ld.volatile{_SPACE}{_PREFETCH}{_VECTOR}.{_TYPE} …",
        "Loads, never combined with another access.",
        kind="memory",
    ),
    row(
        f"ld.(relaxed|acquire).{_SCOPE}{_SPACE}{_EVICT}{_L2}{_PREFETCH}{_VECTOR}.{_TYPE} …",
        "Loads with the given ordering among the threads of the scope.",
        kind="memory",
    ),
    row(f"ld.mmio.relaxed.sys{{.global}}{_VECTOR}.{_TYPE} …", "Loads from memory of a device, once.", kind="memory"),
    row(f"st.mmio.relaxed.sys{{.global}}{_VECTOR}.{_TYPE} …", "Stores to memory of a device, once.", kind="memory"),
    row(f"ldu{{.global}}{_VECTOR}.{_TYPE} …", "Loads from an address that is the same across the warp.", kind="memory"),
    row(
        f"st{{.weak}}{_SPACE}{{.(wb|cg|cs|wt)}}{_EVICT}{_L2}{_VECTOR}.{_TYPE} …",
        "Stores a value or a vector.",
        kind="memory",
    ),
    row(f"st.volatile{_SPACE}{_VECTOR}.{_TYPE} …", "Stores, never combined with another access.", kind="memory"),
    row(
        f"st.(relaxed|release).{_SCOPE}{_SPACE}{_EVICT}{_L2}{_VECTOR}.{_TYPE} …",
        "Stores with the given ordering among the threads of the scope.",
        kind="memory",
    ),
    row("prefetch{.(global|local)}.(L1|L2) …", "Brings a line into a cache.", kind="memory"),
    row("prefetch.global.(L2::evict_last|L2::evict_normal) …", "Brings a line into the L2 cache.", kind="memory"),
    row("prefetchu.L1 …", "Brings a line into the uniform cache.", kind="memory"),
    row(
        "createpolicy.fractional.(L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged)"
        "{.(L2::evict_first|L2::evict_unchanged)}.b64 d, a:f32?",
        "How the L2 cache is to treat a fraction of the accesses, as an opaque word.",
        _policy,
    ),
    row("createpolicy.cvt.L2.b64 d, a", "The policy of an access property.", lambda x, f, a: a),
    row("discard{.global}.L2 …", "Lets a line of the L2 cache be dropped unwritten.", kind="memory"),
    row("applypriority{.global}.L2::evict_normal …", "Resets a line's eviction priority.", kind="memory"),
    row(
        "cvta.(global|shared|shared::cta|shared::cluster|local|const|param|param::entry).(u32|u64) …",
        "The generic address of an address in a space.",
        kind="memory",
    ),
    row(
        "cvta.to.(global|shared|shared::cta|shared::cluster|local|const|param|param::entry).(u32|u64) …",
        "The address in a space of a generic address.",
        kind="memory",
    ),
    row(
        "isspacep.(global|shared|shared::cta|shared::cluster|local|const|param|param::entry) …",
        "Whether a generic address lies in a space.",
        kind="memory",
    ),
    row(
        "mapa{.shared::cluster}.(u32|u64) …",
        "The address of a variable in another block of the cluster.",
        kind="memory",
    ),
    row(
        "getctarank{.shared::cluster}.(u32|u64) …",
        "The rank of the block whose shared memory holds an address.",
        kind="memory",
    ),
)
