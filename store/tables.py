"""The database's tables: finished runs and shares."""

import datetime as dt

from sqlalchemy import DateTime, Dialect, ForeignKey, String, Text, TypeDecorator
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class UTCDateTime(TypeDecorator[dt.datetime]):
    """An aware time in UTC, also where the database has no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        return None if value is None else value.astimezone(dt.UTC)

    def process_result_value(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


class Base(DeclarativeBase):
    pass


class Run(Base):
    """A finished run: its request and all of its events, whose fold is the result."""

    __tablename__ = "runs"

    id: Mapped[str] = mapped_column(String(11), primary_key=True)
    device: Mapped[str] = mapped_column(String(64))
    verdict: Mapped[str] = mapped_column(String(64), index=True)
    attempt: Mapped[int]
    request: Mapped[str] = mapped_column(Text)
    """A RunRequest as JSON."""
    events: Mapped[str] = mapped_column(Text)
    """A list of EventRecord as JSON, in order, earlier attempts included."""
    created_at: Mapped[dt.datetime] = mapped_column(UTCDateTime)
    finished_at: Mapped[dt.datetime] = mapped_column(UTCDateTime, index=True)


class Share(Base):
    """What a link shows; a row never changes."""

    __tablename__ = "shares"

    id: Mapped[str] = mapped_column(String(11), primary_key=True)
    parent: Mapped[str | None] = mapped_column(String(11), ForeignKey("shares.id"), index=True)
    content_hash: Mapped[str] = mapped_column(String(64), index=True)
    """SHA-256 of the payload's canonical JSON."""
    payload: Mapped[str] = mapped_column(Text)
    """A SharePayload as JSON."""
    run: Mapped[str | None] = mapped_column(String(11), index=True)
    """The run whose results the link shows; it is kept as long as the link."""
    created_at: Mapped[dt.datetime] = mapped_column(UTCDateTime)
