"""The end of background tasks."""

import asyncio

import pytest

from app.tasks import end


@pytest.mark.parametrize("deafness", [0, 1, 3])
def test_a_task_that_loses_cancellations_ends(deafness: int) -> None:
    async def work() -> None:
        lost = 0
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if lost == deafness:
                    raise
                lost += 1

    async def run() -> None:
        task, over = asyncio.create_task(work()), asyncio.create_task(asyncio.sleep(0))
        await asyncio.sleep(0.01)
        await end(task, over)
        assert task.cancelled()
        assert over.done()
        await end()

    asyncio.run(asyncio.wait_for(run(), 5))
