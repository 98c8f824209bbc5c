"""Values in Redis under a cap and a time to live; the least recently used go first."""

import errno
import time
from typing import cast

import redis

from store.folder import Bytes
from store.scripts import load


class CappedRedis:
    """The values lie at <prefix><key>, their bookkeeping beside them."""

    def __init__(self, client: redis.Redis, prefix: str, cap_bytes: int, ttl_seconds: int) -> None:
        self._client = client
        self._prefix = prefix
        self._cap = cap_bytes
        self._ttl = ttl_seconds
        self._put = load(client, "put_blob")

    def get(self, key: str) -> bytes | None:
        """Counts as a use."""
        with self._client.pipeline(transaction=False) as pipe:
            pipe.getex(self._prefix + key, ex=self._ttl)
            pipe.zadd(f"{self._prefix}:uses", {key: time.time()}, xx=True)
            return cast(bytes | None, pipe.execute()[0])

    def put(self, key: str, data: Bytes) -> None:
        """Raises OSError where Redis is full."""
        names = [f"{self._prefix}{key}", *(f"{self._prefix}:{name}" for name in ("uses", "sizes", "total"))]
        try:
            self._put(keys=names, args=[key, bytes(data), self._cap, self._ttl, self._prefix])
        except redis.ResponseError as error:
            if not isinstance(error, redis.OutOfMemoryError) and "MISCONF" not in str(error):
                raise
            raise OSError(errno.ENOSPC, "Redis takes nothing more: its memory or disk is full") from None
