"""Rows of control flow, barriers and fences: what is legal; the lowering makes their code."""

from __future__ import annotations

from emulator.isa.form import row

ROWS = (
    row("bra{.uni} …", "Continues at a label; `.uni`: all active lanes do.", kind="control"),
    row("brx.idx{.uni} …", "Continues at the label that an index picks from a list.", kind="control"),
    row("ret{.uni} …", "Returns from a function, or ends the thread in an entry.", kind="control"),
    row("exit …", "Ends the thread.", kind="control"),
    row("trap …", "Ends the grid with an error.", kind="control"),
    row("brkpt …", "Suspends for a debugger.", kind="control"),
    row("call{.uni} …", "Calls a function by name or by address and prototype.", kind="call"),
    row(
        "alloca.(u32|u64) …",
        "Memory of the thread's stack, until the function returns; more than there is ends the grid.",
        kind="special",
    ),
    row("stacksave.(u32|u64) …", "The stack pointer.", kind="special"),
    row("stackrestore.(u32|u64) …", "Sets the stack pointer, which gives back what alloca took since.", kind="special"),
    row("bar{.cta}.sync …", "Waits until the block's threads (or b of them) have arrived.", kind="barrier"),
    row("bar{.cta}.arrive …", "Arrives without waiting.", kind="barrier"),
    row("bar{.cta}.red.popc.u32 …", "Waits, and counts the threads whose predicate holds.", kind="barrier"),
    row("bar{.cta}.red.(and|or).pred …", "Waits, and combines the threads' predicates.", kind="barrier"),
    row("bar.warp.sync …", "Waits until the member lanes have arrived.", kind="barrier"),
    row(
        "barrier{.cta}.sync{.aligned} …", "Waits until the block's threads (or b of them) have arrived.", kind="barrier"
    ),
    row("barrier{.cta}.arrive{.aligned} …", "Arrives without waiting.", kind="barrier"),
    row(
        "barrier{.cta}.red.popc{.aligned}.u32 …", "Waits, and counts the threads whose predicate holds.", kind="barrier"
    ),
    row("barrier{.cta}.red.(and|or){.aligned}.pred …", "Waits, and combines the threads' predicates.", kind="barrier"),
    row(
        "barrier.cluster.arrive{.(release|relaxed)}{.aligned} …",
        "Arrives at the cluster's barrier without waiting.",
        kind="barrier",
    ),
    row(
        "barrier.cluster.wait{.acquire}{.aligned} …",
        "Waits until all threads of the cluster have arrived.",
        kind="barrier",
    ),
    row("membar.(cta|gl|sys) …", "Orders this thread's memory accesses.", kind="barrier"),
    row(
        "fence{.(sc|acq_rel|acquire|release)}.(cta|cluster|gpu|sys) …",
        "Orders this thread's memory accesses.",
        kind="barrier",
    ),
    row("membar.proxy.(alias|async) …", "Orders accesses of different proxies.", kind="barrier"),
    row("fence.proxy.alias …", "Orders accesses through aliases of an address.", kind="barrier"),
    row(
        "fence.proxy.async{.(global|shared::cta|shared::cluster)} …",
        "Orders accesses of different proxies.",
        kind="barrier",
    ),
    row(
        "fence{.proxy}{.async::generic}.acquire.sync_restrict::shared::cluster.cluster …",
        "Orders accesses to the shared memory of the cluster behind a barrier.",
        kind="barrier",
    ),
    row(
        "fence{.proxy}{.async::generic}.release.sync_restrict::shared::cta.cluster …",
        "Orders accesses to the block's own shared memory before a barrier.",
        kind="barrier",
    ),
    row("fence.mbarrier_init.release.cluster …", "Shows a barrier's beginning to the cluster.", kind="barrier"),
    row("nanosleep.u32 …", "Suspends for about that many nanoseconds.", kind="special"),
    row("pmevent{.mask} …", "Triggers a performance monitor event.", kind="special"),
    row("griddepcontrol.(launch_dependents|wait) …", "Orders dependent grids; alone, a grid has none.", kind="special"),
    row("setmaxnreg.(inc|dec).sync.aligned.u32 …", "Asks for more or fewer registers.", kind="special"),
)
