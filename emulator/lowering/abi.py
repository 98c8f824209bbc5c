"""Where things lie in the structures that compiled kernels and the run time share (byte offsets).

The **launch context** (`CONTEXT_*`) is one structure a launch, read by all OS threads:

    0   i32 stop              not 0: every thread of the kernel ends at its next back edge or block
    4   i32 claimed           set by the first thread that reports a fault
    8   i64 next block        taken atomically, `chunk` blocks at a time
    16  i64 blocks            of the grid
    24  ptr kernel            the compiled function of a gang
    32  i32[3] grid           then 4 unused bytes
    48  ptr parameters        the parameter block
    56  ptr globals           i64 address of each module variable, in the order of the compiled entry
    64  ptr starts            i64 first address of each allocation, ascending
    72  ptr sizes             i64 bytes of each allocation
    80  i64 allocations
    88  i64 shared bytes      static and dynamic, of one block
    96  i64 local bytes       of one thread
    104 i64 gangs             of a block
    112 i64 frame bytes       of one gang
    120 i64 chunk
    128 the fault record      i32 kind, site, space, access; i64 size, address; i32 lane, gang; i64 block;
                              ptr worker
    184 ptr service           called for printf, assert, malloc and free
    192 i64 dynamic shared bytes
    200 i64 threads           of a block
    208 ptr findings          of the checks: i32 count, then 48 bytes each, laid out like the fault record
    216 ptr found             a byte for each site and kind (`MOST_KINDS` a site) that has been found
    224 ptr shadows           of buffers: i64 address, i64 bytes, ptr known bytes, ptr cells
    232 i64 shadows
    240 i64 seat bytes        from one worker state of an OS thread to its next
    248 i64 cluster blocks    blocks of a cluster, 1 where the launch has none
    256 i32[3] cluster        blocks of a cluster along each axis
    268 i32 clustered         whether the launch or the kernel names a cluster
    272 i64 workspace         address of the grid's own workspace; NO_GRID where the launch is not cooperative
    280 i32 ordered           whether blocks may order their accesses through memory, so that checks see no races there
    288 i64 calls             of the kernel for a block that does not suspend: its gangs, or 1
    296 ptr touched           a byte for each 32-byte sector of the run's memory, where a launch is profiled
    304 i64 touched from      the first sector's address
    312 i64 touched sectors
    320 ptr trace             of the instrument that traces, a record for each site
    328 i32 traced warp       of a block, whose accesses are noted

The **worker state** (`WORKER_*`) is one structure for each block that an OS thread holds, see `runtime.residency`:

    0   i64 block             being run (x fastest)
    8   i32 gang              being run
    16  ptr sites             two i64 a site: first address, and how many accesses fit (0 = nothing known)
    24  ptr shared            the block's shared memory
    32  ptr frames            of the block's gangs
    40  ptr local             local memory of the block's gangs, see below
    48  ptr counters
    56  i32 barriers          one bit for each barrier that some gang has used in this block
    64  i32[16] arrivals      threads that arrived without waiting (bar.arrive)
    128 i32[16] votes         of bar.red: threads whose predicate held
    192 i32[16] results       of the last completed bar.red: votes
    256 i32[16] totals        of the last completed bar.red: threads that took part
    320 ptr shadow            cells of the block's shared memory, where it is checked
    328 i32 epoch             of the running block: taken from the clock when it begins, and at every barrier
    332 i32 first epoch       of the running block
    336 i32[32] gang epochs   advanced by bar.warp.sync
    464 ptr cluster           the worker state of the block of rank 0; those of the others follow
    472 i32 rank              in the cluster
    476 i32 state             of a seat: RUNNING, or 0 where its block has ended
    480 i32[3] block index    x, y, z
    492 i32 taken             of the seat of rank 0: whether a cluster sits there
    496 i64 seats             of the OS thread, in its first seat
    504 i32 activity          of this round of gangs, see `runtime.idleness`: 1 something may have changed, 2 a clock
                              was read
    508 i32 idle rounds       one after the other
    512 i64 reference         digest of the frames at an earlier idle round
    520 i64 skew              nanoseconds by which this thread's clocks run ahead
    528 i64 leap              the last skew that was added while the block was idle
    536 i32 wait site         of the last failed wait at an mbarrier + 1
    540 i32 wait gang
    544 i32 wait lane
    552 i64 wait address
    560 i64 frozen time       what clocks of an idle block say, without the skew; 0 where they run
    568 i64 frozen cycles
    576 ptr clock             i32: the last epoch of the OS thread, which all its seats share
    584 i32 own clock         in the first seat
    588 i32 cluster epoch     of the running block's cluster: when it began, or last met
    592 i32 first lane        in its warp, of the running gang's first thread: 0 but where gangs are rows of a block

The **frame** (`FRAME_*`) of a gang holds what outlives a suspension:

    0   i32 state             0 at the start, k resumes behind suspension k, −1 is done
    4   i32 alive             mask of lanes that have not ended
    16  i32[16] waiting       lanes that wait at each barrier
    80  i32[16] needed        threads that each barrier waits for; 0 is the whole block
    144 i32 cluster arrived   lanes that arrived at the cluster's barrier, until it opens
    148 i32 first             of dispatched kernels: positions before it come last at the next choice
    152 i32 patience          back edges until the gang gives way
    156 i32 cluster waiting   lanes that wait at the cluster's barrier
    160 i32 warp waiting      lanes that wait for others of the warp
    192 i32[32] next          of dispatched kernels: the position of each lane's next block
    320 i32[32] members       of dispatched kernels: for whom each lane waits
    448 registers             (192 in other kernels; 64 where a call runs a whole block, which uses the state alone)

An address in shared memory is an offset in the block's own. In the window of the cluster, which the same instructions
accept, bits 24 to 31 hold the rank of the block whose memory is meant, plus 1: 0 is the block itself. Generic addresses
of shared memory are such addresses with `SHARED_TAG`.

Local memory is interleaved by 4-byte words, as on the hardware: byte `o` of lane `l` is at
`(o & ~3)·width + 4·l + (o & 3)`, so that lanes which use one offset touch consecutive words.
"""

from __future__ import annotations

CONTEXT_STOP = 0
CONTEXT_CLAIMED = 4
CONTEXT_NEXT_BLOCK = 8
CONTEXT_BLOCKS = 16
CONTEXT_KERNEL = 24
CONTEXT_GRID = 32
CONTEXT_PARAMETERS = 48
CONTEXT_GLOBALS = 56
CONTEXT_STARTS = 64
CONTEXT_SIZES = 72
CONTEXT_ALLOCATIONS = 80
CONTEXT_SHARED_BYTES = 88
CONTEXT_LOCAL_BYTES = 96
CONTEXT_GANGS = 104
CONTEXT_FRAME_BYTES = 112
CONTEXT_CHUNK = 120
CONTEXT_FAULT = 128
CONTEXT_SERVICE = 184
CONTEXT_DYNAMIC_SHARED = 192
CONTEXT_THREADS = 200
CONTEXT_FINDINGS = 208
CONTEXT_FOUND = 216
CONTEXT_SHADOWS = 224
CONTEXT_SHADOW_COUNT = 232
CONTEXT_SEAT_BYTES = 240
CONTEXT_CLUSTER_BLOCKS = 248
CONTEXT_CLUSTER = 256
CONTEXT_CLUSTERED = 268
CONTEXT_WORKSPACE = 272
CONTEXT_ORDERED = 280
CONTEXT_CALLS = 288
CONTEXT_TOUCHED = 296
CONTEXT_TOUCHED_FROM = 304
CONTEXT_TOUCHED_SECTORS = 312
CONTEXT_TRACE = 320
CONTEXT_TRACED_WARP = 328
CONTEXT_BYTES = 336
TRACE_BYTES = 272

# Bytes before a block's shared memory in which atomic operations of idle lanes end: a word for each lane.
SHARED_SCRATCH = 128

WORKER_BLOCK = 0
WORKER_GANG = 8
WORKER_SITES = 16
WORKER_SHARED = 24
WORKER_FRAMES = 32
WORKER_LOCAL = 40
WORKER_COUNTERS = 48
WORKER_BARRIERS = 56
WORKER_ARRIVALS = 64
WORKER_VOTES = 128
WORKER_RESULTS = 192
WORKER_TOTALS = 256
WORKER_SHADOW = 320
WORKER_EPOCH = 328
WORKER_FIRST_EPOCH = 332
WORKER_GANG_EPOCHS = 336
WORKER_CLUSTER = 464
WORKER_RANK = 472
WORKER_STATE = 476
WORKER_BLOCK_INDEX = 480
WORKER_TAKEN = 492
WORKER_SEATS = 496
WORKER_ACTIVITY = 504
WORKER_IDLE_ROUNDS = 508
WORKER_REFERENCE = 512
WORKER_SKEW = 520
WORKER_LEAP = 528
WORKER_WAIT_SITE = 536
WORKER_WAIT_GANG = 540
WORKER_WAIT_LANE = 544
WORKER_WAIT_ADDRESS = 552
WORKER_FROZEN_TIME = 560
WORKER_FROZEN_CYCLES = 568
WORKER_CLOCK = 576
WORKER_OWN_CLOCK = 584
WORKER_CLUSTER_EPOCH = 588
WORKER_FIRST_LANE = 592
WORKER_BYTES = 600

# Where an address in the cluster's shared memory holds the rank of its block, plus 1.
RANK_SHIFT = 24

FRAME_STATE = 0
FRAME_ALIVE = 4
FRAME_WAITING = 16
FRAME_NEEDED = 80
FRAME_CLUSTER_ARRIVED = 144
FRAME_FIRST = 148
FRAME_PATIENCE = 152
FRAME_CLUSTER_WAITING = 156
FRAME_WARP_WAITING = 160
FRAME_NEXT = 192
FRAME_MEMBERS = 320
FRAME_REGISTERS = 192
FRAME_WHOLE_REGISTERS = 64
FRAME_DISPATCHED_REGISTERS = 448

# What the compiled function of a gang returns.
DONE, SUSPENDED, STOPPED, FAULTED = 0, 1, 2, 3
# What the scheduler of a block returns besides: nothing in it can move before another block does; it only went round
# loops.
STUCK, IDLE = 4, 5

# Kinds of fault in the record.
FAULT_KINDS = {
    1: "out-of-bounds",
    2: "misaligned",
    3: "null",
    4: "trap",
    5: "assert",
    6: "illegal-barrier",
    7: "bad-function-pointer",
    8: "deadlock",
    9: "stack-overflow",
    10: "race",
    11: "uninitialised",
    12: "divergent-barrier",
    13: "barrier-after-exit",
    14: "absent-lanes",
    15: "absent-block",
    16: "mbarrier",
    17: "async-copy",
    18: "copy-in-flight",
    19: "not-clustered",
    20: "beyond-stack",
}
DEADLOCK, STACK_OVERFLOW, MBARRIER, ASYNC_COPY, NOT_CLUSTERED, BEYOND_STACK = 8, 9, 16, 17, 19, 20
# What is wrong with the use of an mbarrier: the size of the fault record.
NOT_INITIALISED, BAD_COUNT, TOO_MANY_ARRIVALS, TRANSACTION_RANGE, COMPLETES = range(1, 6)
# Findings of the checks; a kernel runs on after them.
RACE, UNINITIALISED, DIVERGENT_BARRIER, BARRIER_AFTER_EXIT, ABSENT_LANES = range(10, 15)
COPY_IN_FLIGHT = 18
MOST_FINDINGS = 64
MOST_KINDS = 32
FINDING_BYTES = 48
OUT_OF_BOUNDS, MISALIGNED, NULL, TRAP, ASSERT, ILLEGAL_BARRIER, BAD_CALLEE = range(1, 8)
ABSENT_BLOCK = 15

# Where a grid's barrier seems to be in a launch that is not cooperative: in no memory. An H200's driver gives such an
# address too, so that cooperative groups find a grid there; its upper half is 0.
NO_GRID, GRID_BYTES = 0xFFFF_FF00, 8

SPACES = ("generic", "global", "shared", "local", "const")
SPACE_CODES = {name: code for code, name in enumerate(SPACES)}
ACCESSES = ("read", "write", "atomic")
READ, WRITE, ATOMIC = 0, 1, 2

# Bits of an mbarrier, a 64-bit object in shared memory; a state is the object as it was.
MBARRIER_COUNT_BITS = 20  # of the expected arrivals, from bit 0, and of the pending ones behind them
MBARRIER_TRANSACTIONS, MBARRIER_TRANSACTION_BITS = 40, 21  # signed
MBARRIER_VALID = 61  # set by mbarrier.init
MBARRIER_PHASE = 63
# How `mbarrier_update` counts.
ARRIVES, DROPS, MAY_NOT_COMPLETE = 1, 2, 4
# Bits of the worker's activity.
CHANGED, READ_CLOCK = 1, 2
