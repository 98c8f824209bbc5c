"""Structured logs for every process of the service; nothing that a user typed reaches a terminal unescaped."""

import logging
import sys
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from store.settings import Settings

_QUIET = ("uvicorn.access", "kombu", "amqp", "asyncio", "alembic", "celery.redirected")


def escape_controls(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Control characters, bidirectional overrides and lone surrogates become \\x… or \\u…, so that a line stays one."""
    return {key: _escaped(value) for key, value in event.items()}


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isprintable() else "".join(map(_shown, value))
    if isinstance(value, dict):
        return {_escaped(key): _escaped(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_escaped(item) for item in value]
    return value


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def _escape_but_traceback(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Our own traceback keeps its line breaks on a terminal; the message at its end does not bring controls in."""
    trace = event.pop("exception", None)
    event = escape_controls(logger, name, event)
    if isinstance(trace, str):
        event["exception"] = "\n".join(_escaped(line) for line in trace.split("\n"))
    return event


def configure_logs(settings: Settings, process: str) -> None:
    """structlog and the standard library's loggers write one stream, to stderr: JSON lines or lines for people."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    last: list[Processor]
    if settings.log_format == "json":
        last = [escape_controls, structlog.processors.JSONRenderer()]
    else:
        last = [_escape_but_traceback, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "celery"):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = True
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(process=process)
