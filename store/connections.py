"""Redis clients that ride out a restart of the server."""

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff
from redis.exceptions import BusyLoadingError, ConnectionError, TimeoutError
from redis.retry import Retry

_PASSING = (ConnectionError, TimeoutError, BusyLoadingError)
MAX_CONNECTIONS = 32


def connect_blocking(url: str, binary: bool = False, retries: int = 20) -> redis.Redis:
    """For workers. With 20 retries it waits about 9 s for a server that is away."""
    return redis.Redis.from_url(
        url,
        decode_responses=not binary,
        retry=Retry(ExponentialBackoff(cap=0.5, base=0.02), retries, supported_errors=_PASSING),
        health_check_interval=10,
    )


def connect(url: str, retries: int = 6) -> redis.asyncio.Redis:
    """For the API: callers wait for one of 32 connections instead of opening ever more."""
    pool = redis.asyncio.BlockingConnectionPool.from_url(
        url,
        decode_responses=True,
        max_connections=MAX_CONNECTIONS,
        timeout=5,
        retry=AsyncRetry(ExponentialBackoff(cap=0.3, base=0.02), retries, supported_errors=_PASSING),
        health_check_interval=10,
    )
    return redis.asyncio.Redis.from_pool(pool)
