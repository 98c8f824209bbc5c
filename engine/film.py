"""Takes the frames of a run's film, one at a time, and sends each before the next round begins."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Self

from engine.devices import DeviceBuffer
from engine.emission import NO_DIGEST, Emission
from engine.values.results import extremes
from protocol.arguments import Buffer
from protocol.dtypes import write_number
from protocol.events import Timed
from protocol.film import Filmed, filmed_repeat
from protocol.run import RunRequest


@dataclass(slots=True)
class Filming:
    """The film of one run: of the buffer that a name denotes, in the repeat at the path `step`."""

    buffer: Buffer
    step: str
    every: int
    emission: Emission
    seconds: float = 0.0
    """What the frames took so far, which no launch's time holds."""

    @classmethod
    def wanted(cls, run: RunRequest, emission: Emission) -> Self | None:
        """None where the run asks for no film."""
        if run.film is None:
            return None
        buffer = next(item for item in run.buffers if item.name == run.film.buffer)
        step, _ = filmed_repeat(run.steps, run.film)
        return cls(buffer, step, run.film.every, emission)

    def after(self, step: str, rounds: int, buffer: DeviceBuffer) -> None:
        """Sends a frame where one is due `rounds` rounds into the repeat at `step`. DeviceLost.

        Only this frame is in the child's memory: it has left before this returns.
        """
        if step != self.step or rounds % self.every:
            return
        begin = time.perf_counter()
        values = buffer.read()
        smallest, largest, not_finite = extremes(values, self.buffer.dtype)
        event = Filmed(
            buffer=self.buffer.name,
            round=rounds,
            dtype=self.buffer.dtype,
            shape=self.buffer.shape,
            digest=NO_DIGEST,
            bytes=self.buffer.bytes,
            minimum=None if smallest is None else write_number(smallest),
            maximum=None if largest is None else write_number(largest),
            not_finite=not_finite,
        )
        self.emission.buffer(event, values)
        self.seconds += time.perf_counter() - begin

    def told(self) -> Timed:
        """The time of all frames."""
        return Timed(stage="film", seconds=self.seconds, step=self.step)
