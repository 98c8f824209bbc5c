"""The life of a run in Redis: admitted, claimed, watched, finished, reaped; and who may not do what."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
import redis
from sqlalchemy import create_engine, select

from app.clients import Caller
from app.outbox import Outbox
from app.queue import Queue
from protocol.events import Compiling, EventRecord, Finished, Printed
from store import keys
from store.claims import Claims, HeldRun, Lost
from store.connections import connect
from store.settings import Settings
from store.tables import Run
from tests.service.harness import run_request

OK = Finished(verdict="ok")


@pytest.fixture
def queue(settings: Settings, claims: Claims) -> Callable[..., Any]:
    """Calls a coroutine of a Queue."""

    def call(method: str, *arguments: Any, **changes: Any) -> Any:
        async def run() -> Any:
            used = settings.model_copy(update=changes)
            client = connect(settings.redis)
            outbox = Outbox(used)
            queue = Queue(client, claims, outbox, used)
            try:
                return await getattr(queue, method)(*arguments)
            finally:
                outbox.close()
                await client.aclose()

        return asyncio.run(run())

    return call


HERE = "192.0.2.1"


def admit(queue: Callable[..., Any], client: str = "c", network: str = HERE, **changes: Any) -> str:
    return str(queue("admit", run_request(), "emulator", Caller(client, network), None, **changes).id)


def records(client: redis.Redis, run_id: str) -> list[EventRecord]:
    entries: Any = client.xrange(keys.events(run_id))
    return [EventRecord.model_validate_json(fields["record"]) for _, fields in entries]


def taken(claims: Claims, run_id: str) -> HeldRun:
    held = claims.claim(run_id)
    assert isinstance(held, HeldRun), held
    return held


def test_a_run_goes_through(queue: Callable[..., Any], claims: Claims, client: redis.Redis, settings: Settings) -> None:
    run_id = admit(queue)
    assert client.llen("emulator") == 1
    held = taken(claims, run_id)
    assert (held.attempt, held.device, held.cancelled) == (1, "emulator", False)
    claims.emit(held, Compiling(attempt=1))
    claims.finish(held, OK)
    assert [(record.id, record.event.kind) for record in records(client, run_id)] == [
        ("0-1", "queued"),
        ("1-1", "compiling"),
        ("1-2", "finished"),
    ]
    assert claims.claim(run_id) == "finished"
    assert client.get(keys.HELD_BYTES) == "0"
    assert client.hgetall(keys.VERDICTS) == {"ok": "1"}
    assert 0 < client.ttl(keys.events(run_id)) <= settings.stream_seconds
    assert client.zcard(keys.RUNNING) == client.zcard(keys.pending("emulator")) == 0
    engine = create_engine(settings.database_blocking)
    with engine.connect() as connection:
        row = connection.execute(select(Run.__table__).where(Run.id == run_id)).one()
    engine.dispose()
    assert (row.id, row.verdict, row.attempt, row.device) == (run_id, "ok", 1, "emulator")
    assert row.events.count('"id":') == 3


def test_a_run_has_one_holder(queue: Callable[..., Any], claims: Claims) -> None:
    run_id = admit(queue)
    taken(claims, run_id)
    assert claims.claim(run_id) == "held"
    assert claims.claim("1111111111z") == "gone"


def test_a_repeated_emit_is_harmless(queue: Callable[..., Any], claims: Claims, client: redis.Redis) -> None:
    run_id = admit(queue)
    held = taken(claims, run_id)
    claims.emit(held, Printed(text="a"))
    del held.records[:]  # as after a retry whose first answer was lost
    claims.emit(held, Printed(text="a"))
    assert [record.id for record in records(client, run_id)] == ["0-1", "1-1"]


def test_who_lost_the_lease_is_fenced_off(queue: Callable[..., Any], claims: Claims, client: redis.Redis) -> None:
    run_id = admit(queue)
    first = taken(claims, run_id)
    claims.emit(first, Printed(text="first"))
    client.delete(keys.lease(run_id))  # as time would
    assert queue("reap") == 1
    assert client.zcard(keys.pending("emulator")) == 1
    for refused in (lambda: claims.emit(first, Printed(text="late")), lambda: claims.finish(first, OK)):
        with pytest.raises(Lost):
            refused()
    assert claims.watch(first) == "lost"
    second = taken(claims, run_id)
    assert second.attempt == 2
    claims.emit(second, Printed(text="second"))
    for refused in (lambda: claims.emit(first, Printed(text="late")), lambda: claims.finish(first, OK)):
        with pytest.raises(Lost):
            refused()
    claims.finish(second, OK)
    assert [record.id for record in records(client, run_id)] == ["0-1", "1-1", "2-1", "2-2"]
    assert client.get(keys.LOST) == "1"


def test_a_live_lease_is_not_reaped(queue: Callable[..., Any], claims: Claims, client: redis.Redis) -> None:
    held = taken(claims, admit(queue))
    client.pexpire(keys.lease(held.id), 100)
    assert claims.watch(held) == "held"
    time.sleep(0.15)
    assert queue("reap") == 0
    assert claims.watch(held) == "held"


def test_after_three_lost_workers_the_run_ends(queue: Callable[..., Any], claims: Claims, client: redis.Redis) -> None:
    run_id = admit(queue)
    for attempt in (1, 2, 3):
        assert taken(claims, run_id).attempt == attempt
        client.delete(keys.lease(run_id))
        if attempt == 3:
            assert claims.claim(run_id) == "exhausted"
        queue("reap")
    last = records(client, run_id)[-1]
    assert last.id == "4-1"
    assert isinstance(last.event, Finished)
    assert (last.event.verdict, "lost 3 times" in last.event.message) == ("error", True)
    assert claims.claim(run_id) == "finished"


def test_a_message_that_was_taken_and_never_claimed_is_sent_again(
    queue: Callable[..., Any], claims: Claims, client: redis.Redis
) -> None:
    run_id = admit(queue)
    assert queue("reap", orphan_grace=0.05) == 0, "its message is still in the queue"
    time.sleep(0.1)
    assert queue("reap", orphan_grace=0.05) == 0
    assert client.rpop("emulator") is not None
    assert queue("reap", orphan_grace=0.05) == 0, "the grace begins"
    time.sleep(0.1)
    assert queue("reap", orphan_grace=0.05) == 1
    assert client.llen("emulator") == 1
    assert taken(claims, run_id).attempt == 1


def test_any_message_takes_up_the_run_whose_turn_it_is(
    queue: Callable[..., Any], claims: Claims, client: redis.Redis
) -> None:
    first, second, third = admit(queue), admit(queue), admit(queue)
    assert client.rpop("emulator") is not None, "the message of the first is lost"
    order = []
    while client.rpop("emulator") is not None:
        held = claims.take("emulator")
        assert held is not None
        order.append(held.id)
    assert order == [first, second]
    queue("reap", orphan_grace=0.0)
    time.sleep(0.01)
    assert queue("reap", orphan_grace=0.0) == 1
    assert client.llen("emulator") == 1
    last = claims.take("emulator")
    assert last is not None and last.id == third
    assert claims.take("emulator") is None


def drained(claims: Claims) -> list[str]:
    order = []
    while (held := claims.take("emulator")) is not None:
        order.append(held.client)
    return order


def test_clients_take_turns(queue: Callable[..., Any], claims: Claims, client: redis.Redis) -> None:
    for who in "aaaaabbc":
        admit(queue, who)
    assert drained(claims) == [*"abcabaaa"]
    assert client.hgetall(keys.waiting("emulator")) == {}


def test_who_comes_later_waits_one_round_and_is_owed_none(queue: Callable[..., Any], claims: Claims) -> None:
    for who in "aaaa":
        admit(queue, who)
    for _ in range(2):
        assert claims.take("emulator") is not None
    for who in "bbbb":
        admit(queue, who)
    assert drained(claims) == [*"abab", *"bb"]


def test_a_run_that_lost_its_worker_goes_behind_those_of_its_client(
    queue: Callable[..., Any], claims: Claims, client: redis.Redis
) -> None:
    first, second = admit(queue), admit(queue)
    held = claims.take("emulator")
    assert held is not None and held.id == first
    client.delete(keys.lease(first))
    assert queue("reap") == 1
    assert client.hget(keys.waiting("emulator"), "c") == "2"
    assert [taken.id for taken in iter(lambda: claims.take("emulator"), None)] == [second, first]
    assert client.hgetall(keys.waiting("emulator")) == {}


def test_cancelled_runs_make_room(queue: Callable[..., Any], client: redis.Redis) -> None:
    ids = [admit(queue, waiting_per_client=2) for _ in range(2)]
    assert queue("cancel", ids[0]) == "finished"
    admit(queue, waiting_per_client=2)
    assert client.hgetall(keys.waiting("emulator")) == {"c": "2", f"at {HERE}": "2"}


def test_the_place_in_the_line_and_the_time_until_then(
    queue: Callable[..., Any], claims: Claims, client: redis.Redis
) -> None:
    ids = [admit(queue, who) for who in "aab"]
    assert [queue("place", run_id, lambda _: 1).ahead for run_id in ids] == [0, 2, 1]
    assert queue("place", ids[0], lambda _: 1).seconds is None
    held = claims.take("emulator")
    assert held is not None
    held.claimed -= 3.0
    claims.finish(held, OK)
    place = queue("place", ids[1], lambda _: 2)
    assert (place.state, place.ahead, round(place.seconds, 1)) == ("queued", 1, 3.0)
    assert queue("place", ids[0], lambda _: 2).state == "finished"
    assert queue("place", "11111111111", lambda _: 2) is None


def test_gpu_seconds_are_a_budget_of_each_day(queue: Callable[..., Any], claims: Claims) -> None:
    from app.errors import TooMany

    def send(who: str, device: str = "gpu:h200") -> None:
        queue("admit", run_request(), device, Caller(who, HERE), None, gpu_seconds_per_day=5)

    send("c")
    held = claims.take("gpu:h200")
    assert held is not None
    held.claimed -= 7.0
    claims.finish(held, OK)
    with pytest.raises(TooMany) as refused:
        send("c")
    assert refused.value.kind == "gpu-seconds"
    assert "7 s of GPU time today, of 5" in refused.value.detail
    assert 1 <= int(refused.value.headers["Retry-After"]) <= 24 * 3600
    send("c", "emulator")
    send("d")


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"queue_cap": 2}, "queue-full"),
        ({"queue_bytes": 1000}, "queue-full"),
        ({"runs_burst": 2, "runs_per_second": 0.1}, "rate"),
        ({"waiting_per_client": 2}, "waiting"),
        ({"waiting_per_network": 2}, "waiting"),
    ],
)
def test_admission_has_caps(queue: Callable[..., Any], client: redis.Redis, changes: dict[str, Any], kind: str) -> None:
    from app.errors import TooMany

    admitted = 0
    with pytest.raises(TooMany) as refused:
        for _ in range(5):
            admit(queue, **changes)
            admitted += 1
    assert admitted >= 1
    assert refused.value.kind == kind
    assert 1 <= int(refused.value.headers["Retry-After"]) <= 11
    assert client.zcard(keys.pending("emulator")) == admitted


def test_another_client_has_a_bucket_of_its_own(queue: Callable[..., Any]) -> None:
    changes = {"runs_burst": 1, "runs_per_second": 0.1}
    queue("admit", run_request(), "emulator", Caller("one", HERE), None, **changes)
    queue("admit", run_request(), "emulator", Caller("two", HERE), None, **changes)


def test_an_idempotency_key_names_one_run(queue: Callable[..., Any], client: redis.Redis) -> None:
    from app.errors import Conflict

    first = queue("admit", run_request(), "emulator", Caller("c", HERE), "key")
    again = queue("admit", run_request(), "emulator", Caller("c", HERE), "key")
    other_client = queue("admit", run_request(), "emulator", Caller("d", HERE), "key")
    assert first.id == again.id != other_client.id
    with pytest.raises(Conflict):
        queue("admit", run_request(architecture="sm_80"), "emulator", Caller("c", HERE), "key")
    assert client.zcard(keys.pending("emulator")) == 2


def test_cancelling(queue: Callable[..., Any], claims: Claims, client: redis.Redis) -> None:
    waiting, running = admit(queue), admit(queue)
    held = taken(claims, running)
    assert queue("cancel", waiting) == "finished"
    assert records(client, waiting)[-1].event == Finished(verdict="cancelled", message="Cancelled while it waited.")
    assert claims.claim(waiting) == "finished"
    assert queue("cancel", running) == "running"
    assert claims.watch(held) == "cancel"
    claims.finish(held, Finished(verdict="cancelled"))
    assert queue("cancel", running) == "finished"
    assert queue("cancel", "11111111111") is None
