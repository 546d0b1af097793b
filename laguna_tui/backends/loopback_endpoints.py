"""Endpoints of other programs on this machine: the default ports are asked, once, when the user wants to know."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from laguna_engine.errors import EngineError
from laguna_tui.backends.remote import RemoteOptions, list_served
from laguna_tui.base.async_thread import AsyncThread

PORTS: Mapping[int, str] = {8080: "llama-server", 11434: "Ollama", 1234: "LM Studio", 8000: "vLLM"}
"""The ports that servers of models listen on where nobody says otherwise."""
_WAIT_S = 2.0
_MOST = 32


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model that an endpoint on this machine serves. owner: the program that mostly listens there."""

    url: str
    name: str
    owner: str


def found_endpoints(ports: Mapping[int, str] = PORTS, wait_s: float = _WAIT_S) -> tuple[FoundModel, ...]:
    """The models served on this machine. Asks each port without a key; takes `wait_s` seconds at most."""
    thread = AsyncThread("laguna-loopback")
    try:
        return thread.start(_found(ports, wait_s)).result()
    finally:
        thread.close()


async def _found(ports: Mapping[int, str], wait_s: float) -> tuple[FoundModel, ...]:
    found = await asyncio.gather(*(_served(port, owner, wait_s) for port, owner in ports.items()))
    return tuple(model for models in found for model in models)


async def _served(port: int, owner: str, wait_s: float) -> Sequence[FoundModel]:
    options = RemoteOptions(f"http://127.0.0.1:{port}/v1", loopback=True)
    with suppress(EngineError, TimeoutError):
        async with asyncio.timeout(wait_s):
            served = await list_served(options)
        return [FoundModel(options.url, each.name, owner) for each in served[:_MOST]]
    return []
