"""Several clients and the user share one sequence: who is next, and that each is answered as if it were alone."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from laguna_engine.config import PLAIN
from laguna_engine.engine import Request
from laguna_engine.events import Finished, FinishReason
from laguna_tui.server.api_error import ApiError
from laguna_tui.server.fair_queue import FairQueue
from laguna_tui.server.generation_run import SLICE_TOKENS
from tests.app.server.serving import WAIT_S, Served, served
from tests.engine import tiny
from tests.scripted_model import say


async def order(queue: FairQueue, clients: list[str]) -> list[str]:
    """In which order clients have their turns that asked in this order while somebody had one."""
    had: list[str] = []
    go = asyncio.Event()

    async def ask(client: str) -> None:
        async with queue.turn(client):
            had.append(client)
            if client == "first":
                await go.wait()

    tasks = []
    for client in ["first", *clients]:
        tasks.append(asyncio.create_task(ask(client)))
        await asyncio.sleep(0)
    go.set()
    await asyncio.gather(*tasks)
    return had[1:]


async def test_clients_have_their_turns_one_after_another():
    assert await order(FairQueue(10), ["a", "a", "a", "b", "c", "b"]) == ["a", "b", "c", "a", "b", "a"]


def test_the_number_of_waiting_requests_is_limited():
    queue = FairQueue(2)
    for _ in range(3):
        queue.enter()  # one has its turn
    with pytest.raises(ApiError) as error:
        queue.enter()
    assert str(error.value) == "2 requests are waiting already; try again soon."
    queue.leave()
    queue.enter()


async def test_who_leaves_while_waiting_takes_no_turn():
    queue = FairQueue(9)
    async with queue.turn("a"):
        gone = asyncio.create_task(_turn(queue, "b"))
        stays = asyncio.create_task(_turn(queue, "c"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        assert queue.waiting == 1
    await asyncio.wait_for(stays, WAIT_S)
    async with asyncio.timeout(WAIT_S), queue.turn("d"):
        assert queue.now == "d"


async def _turn(queue: FairQueue, client: str) -> None:
    async with queue.turn(client):
        pass


def test_a_long_answer_lets_others_have_their_turn_and_is_the_same(tmp_path: Path):
    """A part of it at a time; nothing is said twice or left out."""
    lengths = {"long 1": 2 * SLICE_TOKENS + 99, "long 2": SLICE_TOKENS + 99, "brief 3": 20, "brief 4": 20}

    def ask(server: Served, name: str) -> Any:
        seed = list(lengths).index(name)
        wanted = {"prompt": "", "temperature": 1.0, "seed": seed, "max_tokens": lengths[name]}
        return server.ask("POST", "/v1/completions", wanted, {"User-Agent": name.replace(" ", "-")}).body

    # What decides how sums are rounded is fixed: each token is computed in a batch of its own, also that of the prompt,
    # and the cells of the sliding window are never taken again.
    file = tiny.never_ends(tiny.laguna(tiny.Shape(n_ctx=4096, window=4096))).write(tmp_path / "wide.gguf")
    with served(file, speculation="off") as server:
        alone = {name: ask(server, name) for name in lengths}
        assert {name: body["usage"]["completion_tokens"] for name, body in alone.items()} == lengths
        together: dict[str, Any] = {}
        threads = [
            threading.Thread(target=lambda name=name: together.update({name: ask(server, name)}))  # type: ignore[misc]
            for name in lengths
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        users = {client.name.partition(" ")[2] for client in server.server.clients()}
    assert {name: body["choices"] for name, body in together.items()} == {
        name: body["choices"] for name, body in alone.items()
    }
    assert {name: body["usage"]["completion_tokens"] for name, body in together.items()} == lengths
    assert users == {"long-1", "long-2", "brief-3", "brief-4"}


def test_the_user_goes_first_and_the_client_s_answer_is_whole(serve: Any):
    words = " ".join(f"w{number}" for number in range(1200))
    server: Served = serve(lambda seen: say(words), context=16_384)
    engine = server.slot.engine
    assert engine is not None
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(server.chat("go").body))
    thread.start()
    began = threading.Event()
    while not server.server.clients() or not server.server.clients()[0].now:
        began.wait(0.01)
    # What the session of the TUI does, any number of times.
    for number in range(3):
        own = list(engine.generate(Request(list(range(40 + number, 80)), max_tokens=10, drafting=PLAIN)))
        assert isinstance(own[-1], Finished)
        assert own[-1].reason is FinishReason.MAX_TOKENS
    thread.join(WAIT_S)
    assert answers[0]["choices"][0]["message"]["content"] == words


def test_conversations_of_two_clients_are_each_read_once(serve: Any):
    server = serve(lambda seen: say("ok"), context=8192)
    chats: dict[str, list[Any]] = {"a": [], "b": []}
    for turn in range(3):
        for name, chat in chats.items():
            chat.append({"role": "user", "content": f"{name} {turn} " + f"{name} text " * 120})
            body = server.chat(*chat).body
            chat.append(body["choices"][0]["message"])
            usage = body["usage"]
            new = usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"]
            assert turn == 0 or new < usage["prompt_tokens"] / (turn + 1) + 20
    assert server.metrics()["held_swaps_total"] == 4
