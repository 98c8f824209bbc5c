"""The part of the support library that counts arrivals and bytes at mbarriers.

The object is one 64-bit word (`lowering.abi`): expected and pending arrivals, the signed count of pending
transactions in bytes, and the parity of the phase. A phase is complete once both pending counts are 0; then the next
one begins with the expected arrivals. What the manual leaves undefined, such as more arrivals than are pending, is a
fault here. The gangs of a block run on one thread, so nobody comes between.
"""

from __future__ import annotations

from emulator.lowering import abi
from emulator.runtime.scheduler import field

_COUNT_MASK = (1 << abi.MBARRIER_COUNT_BITS) - 1
_SIGN_UP = 64 - abi.MBARRIER_TRANSACTIONS - abi.MBARRIER_TRANSACTION_BITS
_SIGN_DOWN = 64 - abi.MBARRIER_TRANSACTION_BITS
_MOST_TRANSACTIONS = (1 << (abi.MBARRIER_TRANSACTION_BITS - 1)) - 1
_PENDING = abi.MBARRIER_COUNT_BITS


def lane_loop(name: str, parameters: str, body: str, result: str = "i1", done: str = "true") -> str:
    """A function that runs `body` for each active lane; the body ends in `br label %next` or `br label %fail`."""
    return f"""
define {result} @{name}(ptr %ctx, ptr %tls, i32 %site, i32 %mask, {parameters}) noinline {{
entry:
  %address.cache = alloca i64
  %place.cache = alloca ptr
  store i64 -1, ptr %address.cache
  store ptr null, ptr %place.cache
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %lane.loop
lane.loop:
  %left = phi i32 [ %mask, %entry ], [ %left.next, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %lane64 = zext i32 %lane to i64
  %lane.bit = shl i32 1, %lane
{body}
next:
  %less = sub i32 %left, 1
  %left.next = and i32 %left, %less
  %done = icmp eq i32 %left.next, 0
  br i1 %done, label %out, label %lane.loop
out:
  ret {result} {done}
fail:
  ret {result} {"false" if result == "i1" else "null"}
}}
"""


def lane_value(name: str, type: str, array: str) -> str:
    """IR that loads the lane's element of an array."""
    return f"  %{name}.p = getelementptr {type}, ptr %{array}, i64 %lane64\n  %{name} = load {type}, ptr %{name}.p"


def misused(kind: int, reason: int | str, label: str, address: str = "%address") -> str:
    """A block of code that records the misuse of an mbarrier or a copy; the reason takes the place of the size."""
    return f"""{label}:
  call void @record(ptr %ctx, ptr %tls, i32 {kind}, i32 %site, i32 2, i32 {abi.ATOMIC}, i32 {reason}, i64 {address},
                    i32 %lane)
  br label %fail
"""


_PLACE = f"""
{lane_value("address", "i64", "addresses")}
  ; mostly the object of the lane before
  %last.address = load i64, ptr %address.cache
  %last.place = load ptr, ptr %place.cache
  %again = icmp eq i64 %address, %last.address
  br i1 %again, label %found, label %seek
seek:
  %sought = call ptr @host_pointer(ptr %ctx, ptr %tls, i32 %site, i64 %address, i32 8, i32 %space, i32 {abi.ATOMIC},
                                   i32 0, i32 %lane)
  store i64 %address, ptr %address.cache
  store ptr %sought, ptr %place.cache
  %lost = icmp eq ptr %sought, null
  br i1 %lost, label %fail, label %found
"""

_VALID = f"""
  %word = load i64, ptr %place
  %valid.bit = and i64 %word, {1 << abi.MBARRIER_VALID}
  %valid = icmp ne i64 %valid.bit, 0
  br i1 %valid, label %use, label %uninitialised
{misused(abi.MBARRIER, abi.NOT_INITIALISED, "uninitialised")}
"""

_INIT = lane_loop(
    "mbarrier_init",
    "i32 %space, ptr %addresses, ptr %counts",
    f"""
{_PLACE}
found:
  %place = phi ptr [ %last.place, %lane.loop ], [ %sought, %seek ]
{lane_value("count", "i32", "counts")}
  %least = icmp ne i32 %count, 0
  %most = icmp ule i32 %count, {_COUNT_MASK}
  %legal = and i1 %least, %most
  br i1 %legal, label %use, label %bad
{misused(abi.MBARRIER, abi.BAD_COUNT, "bad")}
use:
  %expected = zext i32 %count to i64
  %pending = shl i64 %expected, {_PENDING}
  %both = or i64 %expected, %pending
  %new = or i64 %both, {1 << abi.MBARRIER_VALID}
  store i64 %new, ptr %place
  br label %next
""",
)

_INVALIDATE = lane_loop(
    "mbarrier_invalidate",
    "i32 %space, ptr %addresses",
    f"""
{_PLACE}
found:
  %place = phi ptr [ %last.place, %lane.loop ], [ %sought, %seek ]
{_VALID}
use:
  store i64 0, ptr %place
  br label %next
""",
)

# Adds `transactions`, then takes `counts` arrivals off; `states` (null: not wanted) gets the object before that.
_UPDATE = lane_loop(
    "mbarrier_update",
    "i32 %space, ptr %addresses, ptr %counts, ptr %transactions, i32 %flags, ptr %states",
    f"""
{_PLACE}
found:
  %place = phi ptr [ %last.place, %lane.loop ], [ %sought, %seek ]
{_VALID}
use:
{lane_value("count", "i32", "counts")}
{lane_value("change", "i32", "transactions")}
  %arrives.bit = and i32 %flags, {abi.ARRIVES}
  %arrives = icmp ne i32 %arrives.bit, 0
  %drops.bit = and i32 %flags, {abi.DROPS}
  %drops = icmp ne i32 %drops.bit, 0
  %keeps.bit = and i32 %flags, {abi.MAY_NOT_COMPLETE}
  %keeps = icmp ne i32 %keeps.bit, 0
  %zero = icmp eq i32 %count, 0
  %nothing = and i1 %zero, %arrives
  %big = icmp ugt i32 %count, {_COUNT_MASK}
  %illegal = or i1 %nothing, %big
  br i1 %illegal, label %bad, label %counted
{misused(abi.MBARRIER, abi.BAD_COUNT, "bad")}
counted:
  %count64 = zext i32 %count to i64
  %expected = and i64 %word, {_COUNT_MASK}
  %above = lshr i64 %word, {_PENDING}
  %pending = and i64 %above, {_COUNT_MASK}
  %enough = icmp uge i64 %pending, %count64
  br i1 %enough, label %arrived, label %too.many
{misused(abi.MBARRIER, abi.TOO_MANY_ARRIVALS, "too.many")}
arrived:
  %raised = shl i64 %word, {_SIGN_UP}
  %bytes = ashr i64 %raised, {_SIGN_DOWN}
  %change64 = sext i32 %change to i64
  %bytes.new = add i64 %bytes, %change64
  %shifted = add i64 %bytes.new, {_MOST_TRANSACTIONS}
  %in.range = icmp ule i64 %shifted, {2 * _MOST_TRANSACTIONS}
  br i1 %in.range, label %ranged, label %beyond
{misused(abi.MBARRIER, abi.TRANSACTION_RANGE, "beyond")}
ranged:
  %dropped = select i1 %drops, i64 %count64, i64 0
  %expected.new = sub i64 %expected, %dropped
  %pending.new = sub i64 %pending, %count64
  %no.arrivals = icmp eq i64 %pending.new, 0
  %no.bytes = icmp eq i64 %bytes.new, 0
  %empty = and i1 %no.arrivals, %no.bytes
  %sum = or i32 %count, %change
  %did = icmp ne i32 %sum, 0
  %completes = and i1 %empty, %did
  %wrong = and i1 %completes, %keeps
  br i1 %wrong, label %completed.wrongly, label %fine
{misused(abi.MBARRIER, abi.COMPLETES, "completed.wrongly")}
fine:
  %phase = and i64 %word, {1 << abi.MBARRIER_PHASE}
  %turned = xor i64 %phase, {1 << abi.MBARRIER_PHASE}
  %phase.new = select i1 %completes, i64 %turned, i64 %phase
  %pending.next = select i1 %completes, i64 %expected.new, i64 %pending.new
  %pending.bits = shl i64 %pending.next, {_PENDING}
  %bytes.cut = and i64 %bytes.new, {(1 << abi.MBARRIER_TRANSACTION_BITS) - 1}
  %bytes.bits = shl i64 %bytes.cut, {abi.MBARRIER_TRANSACTIONS}
  %a = or i64 %phase.new, %expected.new
  %b = or i64 %a, %pending.bits
  %c = or i64 %b, %bytes.bits
  %new = or i64 %c, {1 << abi.MBARRIER_VALID}
  store i64 %new, ptr %place
  %wanted = icmp ne ptr %states, null
  br i1 %wanted, label %tell, label %told
tell:
  %state.p = getelementptr i64, ptr %states, i64 %lane64
  store i64 %word, ptr %state.p
  br label %told
told:
  br i1 %completes, label %ordered, label %next
ordered:
  call void @pass_epoch(ptr %tls)
  br label %next
""",
)

# Sets in `complete` a bit for each lane whose phase (bit 63 of its state) is over; notes a lane that has to wait.
_TEST = lane_loop(
    "mbarrier_test",
    "i32 %space, ptr %addresses, ptr %states, ptr %complete",
    f"""
{_PLACE}
found:
  %place = phi ptr [ %last.place, %lane.loop ], [ %sought, %seek ]
{_VALID}
use:
{lane_value("state", "i64", "states")}
  %differs = xor i64 %state, %word
  %over = icmp slt i64 %differs, 0
  br i1 %over, label %is.complete, label %waits
is.complete:
  %before = load i32, ptr %complete
  %after = or i32 %before, %lane.bit
  store i32 %after, ptr %complete
  br label %next
waits:
{field("wait.gang", "%tls", abi.WORKER_GANG, "i32")}
  %note.site = getelementptr i8, ptr %tls, i64 {abi.WORKER_WAIT_SITE}
  %note.gang = getelementptr i8, ptr %tls, i64 {abi.WORKER_WAIT_GANG}
  %note.lane = getelementptr i8, ptr %tls, i64 {abi.WORKER_WAIT_LANE}
  %note.address = getelementptr i8, ptr %tls, i64 {abi.WORKER_WAIT_ADDRESS}
  %site.next = add i32 %site, 1
  store i32 %site.next, ptr %note.site
  store i32 %wait.gang, ptr %note.gang
  store i32 %lane, ptr %note.lane
  store i64 %address, ptr %note.address
  br label %next
""",
)

MBARRIERS = _INIT + _INVALIDATE + _UPDATE + _TEST
MBARRIER_SYMBOLS = ("mbarrier_init", "mbarrier_invalidate", "mbarrier_update", "mbarrier_test")


def pending(word: int) -> tuple[int, int]:
    """The arrivals and the bytes that the phase of an mbarrier still waits for."""
    transactions = word >> abi.MBARRIER_TRANSACTIONS & ((1 << abi.MBARRIER_TRANSACTION_BITS) - 1)
    if transactions > _MOST_TRANSACTIONS:
        transactions -= 1 << abi.MBARRIER_TRANSACTION_BITS
    return word >> _PENDING & _COUNT_MASK, transactions
