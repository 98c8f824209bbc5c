"""Rows of mbarriers and asynchronous copies: what is legal; the code comes from `lowering.asynchronous`."""

from __future__ import annotations

from emulator.isa.form import row

_CTA = "{.(shared|shared::cta)}"
_ANY = "{.(shared|shared::cta|shared::cluster)}"
_RELEASE = "{.(release|relaxed)}{.(cta|cluster)}"
_ACQUIRE = "{.(acquire|relaxed)}{.(cta|cluster)}"
_HINT = "{.L2::cache_hint}"
_PREFETCH = "{.(L2::64B|L2::128B|L2::256B)}"
_BYTES = "mbarrier::complete_tx::bytes"

_MBARRIERS = (
    row(f"mbarrier.init{_CTA}.b64 …", "Begins phase 0, which waits for b arrivals.", kind="barrier"),
    row(f"mbarrier.inval{_CTA}.b64 …", "Ends the use of the object.", kind="barrier"),
    row(
        f"mbarrier.expect_tx{{.relaxed}}{{.(cta|cluster)}}{_ANY}.b64 …",
        "The phase waits for b more bytes.",
        kind="barrier",
    ),
    row(f"mbarrier.complete_tx{{.relaxed}}{{.(cta|cluster)}}{_ANY}.b64 …", "b bytes have come.", kind="barrier"),
    row(
        f"mbarrier.(arrive|arrive_drop){{.expect_tx}}{_RELEASE}{_ANY}.b64 …",
        "d = the object before; counts b arrivals, or expects b bytes and counts one; a drop lasts for later phases.",
        kind="barrier",
    ),
    row(
        f"mbarrier.(arrive|arrive_drop).noComplete{{.release}}{{.cta}}{_CTA}.b64 …",
        "d = the object before; counts b arrivals that must not complete the phase.",
        kind="barrier",
    ),
    row(
        f"mbarrier.(test_wait|try_wait){_ACQUIRE}{_CTA}.b64 …",
        "Whether the phase of the state b is complete.",
        kind="barrier",
    ),
    row(
        f"mbarrier.(test_wait|try_wait).parity{_ACQUIRE}{_CTA}.b64 …",
        "Whether the phase of parity b is complete.",
        kind="barrier",
    ),
    row("mbarrier.pending_count.b64 …", "The arrivals that were pending in a state.", kind="barrier"),
)

_COPIES = (
    row(
        f"cp.async.ca{_CTA}.global{_HINT}{_PREFETCH} …",
        "Copies 4, 8 or 16 bytes to shared memory; bytes beyond the source size become 0.",
        kind="memory",
    ),
    row(
        f"cp.async.cg{_CTA}.global{_HINT}{_PREFETCH} …",
        "Copies 16 bytes to shared memory; bytes beyond the source size become 0.",
        kind="memory",
    ),
    row("cp.async.commit_group …", "Closes the group of this thread's copies since the last one.", kind="memory"),
    row("cp.async.wait_group …", "Waits until at most n groups are unfinished.", kind="memory"),
    row("cp.async.wait_all …", "Waits for all copies of this thread.", kind="memory"),
    row(
        f"cp.async.mbarrier.arrive{{.noinc}}{_CTA}.b64 …",
        "Arrives once this thread's copies are done; without .noinc it raises the pending count by 1 before.",
        kind="memory",
    ),
)

_BULK = (
    row(
        f"cp.async.bulk.(shared::cluster|shared::cta).global.{_BYTES}{_HINT} …",
        "Copies c bytes, a multiple of 16, to shared memory and completes them at an mbarrier.",
        kind="memory",
    ),
    row(
        f"cp.async.bulk.shared::cluster.global.{_BYTES}.multicast::cluster{_HINT} …",
        "Copies c bytes to the same place in each block of the cluster that a mask of 16 bits names.",
        kind="memory",
    ),
    row(
        f"cp.async.bulk.shared::cluster.shared::cta.{_BYTES} …",
        "Copies c bytes to the shared memory of a block of the cluster and completes them at an mbarrier there.",
        kind="memory",
    ),
    row(
        f"cp.async.bulk.global.shared::cta.bulk_group{_HINT}{{.cp_mask}} …",
        "Copies c bytes, a multiple of 16, to global memory; a mask picks bytes of each 16.",
        kind="memory",
    ),
    row(f"cp.async.bulk.prefetch.L2.global{_HINT} …", "Brings b bytes into the L2 cache.", kind="memory"),
    row("cp.async.bulk.commit_group …", "Closes the group of this thread's bulk copies.", kind="memory"),
    row("cp.async.bulk.wait_group{.read} …", "Waits until at most n bulk groups are unfinished.", kind="memory"),
)

_TO_GLOBAL = (
    ("add", "(u32|s32|u64|f32|f64)"), ("add.noftz", "(f16|bf16)"), ("(min|max)", "(u32|s32|u64|s64|f16|bf16)"),
    ("(and|or|xor)", "(b32|b64)"), ("(inc|dec)", "u32"),
)  # fmt: skip
_TO_CLUSTER = (
    ("add", "(u32|s32|u64)"), ("(min|max)", "(u32|s32)"), ("(and|or|xor)", "b32"), ("(inc|dec)", "u32"),
)  # fmt: skip
_REDUCTIONS = (
    *(
        row(
            f"cp.reduce.async.bulk.global.shared::cta.bulk_group{_HINT}.{operation}.{types} …",
            "Combines c bytes of shared memory, element by element, into global memory.",
            kind="memory",
        )
        for operation, types in _TO_GLOBAL
    ),
    *(
        row(
            f"cp.reduce.async.bulk.shared::cluster.shared::cta.{_BYTES}.{operation}.{types} …",
            "Combines c bytes, element by element, into the shared memory of a block of the cluster.",
            kind="memory",
        )
        for operation, types in _TO_CLUSTER
    ),
)

_STORES = (
    row(
        f"st.async{{.weak}}{{.shared::cluster}}.{_BYTES}{{.(v2|v4)}}.(b32|u32|s32|f32|b64|u64|s64|f64) …",
        "Stores to a block of the cluster and completes the bytes at an mbarrier there.",
        kind="memory",
    ),
    *(
        row(
            f"red.async{{.relaxed}}{{.cluster}}{{.shared::cluster}}.{_BYTES}.{operation}.{types} …",
            "Updates a value of a block of the cluster and completes the bytes at an mbarrier there.",
            kind="atomic",
        )
        for operation, types in _TO_CLUSTER
    ),
    row("st.bulk{.weak}{.(shared|shared::cta)} …", "Sets b bytes, a multiple of 8, to 0.", kind="memory"),
)

ROWS = (*_MBARRIERS, *_COPIES, *_BULK, *_REDUCTIONS, *_STORES)
