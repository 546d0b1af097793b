"""Whatever runs on a thread does not delay the end of the app."""

import asyncio
import threading

import pytest

from laguna_tui.tui.process_setup import DaemonExecutor


@pytest.mark.timeout(30)
def test_a_call_that_never_returns_does_not_delay_the_end() -> None:
    entered, never = threading.Event(), threading.Event()

    def block() -> None:
        entered.set()
        never.wait()

    async def quit_meanwhile() -> None:
        asyncio.get_running_loop().set_default_executor(DaemonExecutor())
        call = asyncio.ensure_future(asyncio.to_thread(block))
        while not entered.is_set():
            await asyncio.sleep(0.01)
        assert not call.done()

    asyncio.run(quit_meanwhile())
    never.set()


async def test_a_call_returns_its_result_or_its_error() -> None:
    asyncio.get_running_loop().set_default_executor(DaemonExecutor())
    assert await asyncio.to_thread(int, "7") == 7
    with pytest.raises(ValueError, match="invalid literal"):
        await asyncio.to_thread(int, "seven")
