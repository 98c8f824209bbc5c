"""The clock is put back by an hour: what Redis keeps is an hour ahead then, and no limit or lease waits for it."""

import time
from collections.abc import Callable
from typing import Any

import pytest
import redis

from app.clients import Caller
from app.errors import TooMany
from store import keys
from store.claims import Claims
from tests.store.test_claims import admit, queue, taken  # noqa: F401

HOUR = 3600.0
ASKED = Caller("c", "192.0.2.1")


@pytest.mark.parametrize("kind", ["upload", "run"])
def test_a_bucket_fills_again(queue: Callable[..., Any], client: redis.Redis, kind: str) -> None:  # noqa: F811
    bucket = keys.rate(kind, ASKED.id)
    client.hset(bucket, mapping={"tokens": 0.5, "at": time.time() + HOUR})

    def ask() -> None:
        if kind == "run":
            admit(queue, ASKED.id, runs_per_second=10.0, runs_burst=5)
        else:
            queue("take_token", kind, ASKED, 10.0, 5)

    with pytest.raises(TooMany) as refused:
        ask()
    assert float(refused.value.headers["Retry-After"]) <= 1
    time.sleep(0.1)
    ask()


def test_what_was_saved_stays(queue: Callable[..., Any], client: redis.Redis) -> None:  # noqa: F811
    client.hset(keys.rate("upload", ASKED.id), mapping={"tokens": 2, "at": time.time() + HOUR})
    for _ in range(2):
        queue("take_token", "upload", ASKED, 0.01, 5)
    with pytest.raises(TooMany):
        queue("take_token", "upload", ASKED, 0.01, 5)


def test_a_dead_worker_s_lease_ends(
    queue: Callable[..., Any],  # noqa: F811
    claims: Claims,
    client: redis.Redis,
) -> None:
    held = taken(claims, admit(queue))
    client.pexpire(keys.lease(held.id), int(HOUR * 1000))
    assert queue("reap", lease_seconds=0.1) == 0
    time.sleep(0.15)
    assert queue("reap", lease_seconds=0.1) == 1
    assert taken(claims, held.id).attempt == 2


def test_a_lost_message_is_sent_again(queue: Callable[..., Any], client: redis.Redis) -> None:  # noqa: F811
    run_id = admit(queue)
    assert client.rpop("emulator") is not None
    client.hset(keys.run(run_id), "orphan", time.time() + HOUR)
    assert queue("reap", orphan_grace=0.05) == 0, "the grace begins anew"
    time.sleep(0.1)
    assert queue("reap", orphan_grace=0.05) == 1
    assert client.llen("emulator") == 1
