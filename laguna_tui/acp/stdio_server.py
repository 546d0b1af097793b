"""Runs the agent over stdin and stdout, where nothing but the protocol may be written."""

import asyncio
import os
import sys
from contextlib import suppress

from acp.core import run_agent

from laguna_tui.acp.protocol_agent import ProtocolAgent
from laguna_tui.session.api import SessionSource

_LINE_BYTES = 64 << 20
"""A prompt with embedded files is one line."""


def run_stdio(source: SessionSource) -> None:
    """Serve one client until it closes stdin."""
    _keep_stdout()
    asyncio.run(_serve(source))


async def _serve(source: SessionSource) -> None:
    agent = ProtocolAgent(source)
    try:
        with suppress(ConnectionError, BrokenPipeError):
            # Forking, resuming and closing a session are not in the stable protocol yet.
            await run_agent(agent, use_unstable_protocol=True, stdio_buffer_limit_bytes=_LINE_BYTES)
    finally:
        await agent.close()


def _keep_stdout() -> None:
    """Give the protocol the real stdout, and stderr to whatever else writes there, libraries in C included."""
    sys.stdout.flush()
    own = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # The protocol's library takes it from here; nothing is printed by the app itself.
    sys.stdout = os.fdopen(own, "w", encoding="utf-8")
