"""The Celery application that both ends share: the API sends its tasks by name, the worker has them."""

import threading
from typing import Any

from celery import Celery
from kombu.entity import Queue

from store.identifiers import new_id
from store.settings import Settings

RUN_TASK = "warpyard.run"
INSPECT_TASK = "warpyard.inspect"
VISIBILITY_SECONDS = 120
"""After so long the broker offers an unacknowledged message again. Leases recover runs sooner; the claim of a
run that has ended or is held refuses such a late copy."""


class _OwnBroker(Celery):  # type: ignore[misc]
    """Takes its broker from our settings alone. Celery itself prefers CELERY_BROKER_URL, which, where it is set,
    belongs to another project of this user."""

    own_broker = ""

    def connection_for_read(self, url: str | None = None, **options: Any) -> Any:
        return super().connection_for_read(url or self.own_broker, **options)

    def connection_for_write(self, url: str | None = None, **options: Any) -> Any:
        return super().connection_for_write(url or self.own_broker, **options)


def open_celery(settings: Settings, queues: tuple[str, ...] = ()) -> Celery:
    """Late acknowledgement, one message at a time, no results: the state of a run is our own."""
    celery = _OwnBroker("warpyard", broker=settings.broker, set_as_current=False)
    celery.own_broker = settings.broker
    celery.conf.update(
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_acks_on_failure_or_timeout=True,
        worker_prefetch_multiplier=1,
        task_queues=[Queue(name) for name in queues],  # type: ignore[no-untyped-call]
        task_create_missing_queues=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={"visibility_timeout": VISIBILITY_SECONDS, "health_check_interval": 10},
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
    )
    return celery


class Sender:
    """Sends tasks over one warm connection; safe to call from any thread."""

    def __init__(self, celery: Celery) -> None:
        self._celery = celery
        self._connection = celery.connection_for_write()
        self._producer = celery.amqp.Producer(self._connection)
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Sends one message to nobody: the first one loads half of kombu, which takes 200 ms and more."""
        queue = f"warpyard.warm-{new_id()}"
        self._send(RUN_TASK, queue, new_id(), queue, 1.0)
        with self._lock:
            self._connection.default_channel.queue_delete(queue)

    def run(self, run_id: str, queue: str) -> None:
        """One more run waits in the queue; the id only names the message."""
        self._send(RUN_TASK, queue, run_id, queue, None)

    def inspect(self, question_id: str, queue: str, expires: float) -> None:
        self._send(INSPECT_TASK, question_id, question_id, queue, expires)

    def _send(self, task: str, argument: str, name: str, queue: str, expires: float | None) -> None:
        with self._lock:
            self._celery.send_task(
                task, (argument,), task_id=name, queue=queue, producer=self._producer, expires=expires
            )

    def close(self) -> None:
        self._producer.release()
        self._connection.close()
        self._celery.close()
