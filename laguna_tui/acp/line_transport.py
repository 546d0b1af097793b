"""Sends and receives the protocol's messages as lines of JSON; a line that is not a message is answered with an error.

The library's own transport ignores lines that are not JSON, ends at `null`, and fails at other values than objects.
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from acp.exceptions import RequestError

from laguna_tui.acp.prompt_blocks import with_known_blocks

_PARSE_ERROR, _INVALID_REQUEST, _INTERNAL_ERROR = -32700, -32600, -32603


class LineTransport:
    """An `acp` transport over a pair of streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None at the end of the input."""
        while True:
            try:
                line = await self._reader.readline()
                if not line:
                    return None
                if line.strip():
                    return with_known_blocks(_message(line))
            except ValueError:
                # Longer than the reader's limit; it dropped the line.
                await self._refuse(RequestError(_INVALID_REQUEST, "The line is too long; send less in one message."))
            except RequestError as error:
                await self._refuse(error)

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message. If its result cannot be JSON, an error is sent, so that the request is answered."""
        try:
            text = json.dumps(message, separators=(",", ":"))
        except (TypeError, ValueError, RecursionError):
            error = RequestError(_INTERNAL_ERROR, "The answer cannot be written as JSON.")
            text = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": error.to_error_obj()})
        self._writer.write(text.encode() + b"\n")
        await self._writer.drain()

    async def close(self) -> None:
        """Flush the output."""
        with suppress(ConnectionError):
            await self._writer.drain()

    async def _refuse(self, error: RequestError) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": error.to_error_obj()})


def _message(line: bytes) -> dict[str, Any]:
    """Return the message in a line. RequestError for one that the library could not take."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RequestError(_PARSE_ERROR, "The line is not JSON.") from error
    if not isinstance(value, dict):
        raise RequestError(_INVALID_REQUEST, "The message must be a JSON object; send each message on its own line.")
    method = value.get("method")
    if method is not None and not isinstance(method, str):
        raise RequestError(_INVALID_REQUEST, "The message's method must be a string.")
    if not isinstance(value.get("id"), int | float | str | None):
        raise RequestError(_INVALID_REQUEST, "The message's id must be a number or a string.")
    if method is None and not isinstance(value.get("error"), Mapping | None):
        raise RequestError(_INVALID_REQUEST, "The response's error must be an object.")
    return value
