"""Names of everything that the service keeps in Redis. Celery's own lists have the names of the queues."""

COMPILE_QUEUE = "compile"

PREFIX = "warpyard:"
RUNNING = f"{PREFIX}running"
"""Sorted set of the runs that a worker holds."""
QUEUES = f"{PREFIX}queues"
"""Set of the queues that have ever had a run."""
SEQUENCE = f"{PREFIX}sequence"
HELD_BYTES = f"{PREFIX}held-bytes"
"""Bytes of the requests of all unfinished runs."""
VERDICTS = f"{PREFIX}verdicts"
"""Hash: verdict -> finished runs."""
WORKERS = f"{PREFIX}workers"
"""Sorted set of workers by the Unix time at which they count as lost."""
PACE = f"{PREFIX}pace"
"""Hash: queue -> seconds that a slot spends on a run, a moving average."""
LOST = f"{PREFIX}lost-attempts"
"""How many attempts were taken back from lost workers."""


def run(run_id: str) -> str:
    """Hash: state, device, queue, request, attempt, created, enqueued, client, network, cancel, orphan."""
    return f"{PREFIX}run:{run_id}"


def lease(run_id: str) -> str:
    """Holds the attempt whose worker is alive; expires without it."""
    return f"{PREFIX}lease:{run_id}"


def events(run_id: str) -> str:
    """The stream of a run's events, and the channel that wakes its readers."""
    return f"{PREFIX}events:{run_id}"


def pending(queue: str) -> str:
    """Sorted set of waiting runs by the round in which they are taken up, then by their coming."""
    return f"{PREFIX}pending:{queue}"


def turns(queue: str) -> str:
    """Hash: client -> the round in which its last run is taken up; `now` -> the round of the run taken up last."""
    return f"{PREFIX}turns:{queue}"


def waiting(queue: str) -> str:
    """Hash: client, or `at <network>` -> how many of its runs wait."""
    return f"{PREFIX}waiting:{queue}"


def gpu_seconds(client: str, day: str) -> str:
    """Seconds of GPU jobs that a client has had on a day (UTC)."""
    return f"{PREFIX}gpu-seconds:{day}:{client}"


def rate(kind: str, client: str) -> str:
    return f"{PREFIX}rate:{kind}:{client}"


def idempotency(client: str, key: str) -> str:
    return f"{PREFIX}idempotency:{client}:{key}"


def worker(name: str) -> str:
    return f"{PREFIX}worker:{name}"


def gpu(uuid: str) -> str:
    """The worker that has this GPU to itself; expires without it."""
    return f"{PREFIX}gpu:{uuid}"


def question(question_id: str) -> str:
    """An InspectRequest that somebody still waits for."""
    return f"{PREFIX}question:{question_id}"


def answer(question_id: str) -> str:
    """An InspectReport, and the channel that tells of it."""
    return f"{PREFIX}answer:{question_id}"
