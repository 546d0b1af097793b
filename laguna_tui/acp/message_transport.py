"""The protocol's messages as lines of JSON over stdin and stdout; a line that is no message is answered with an error.

The protocol's library logs a line that is not JSON and leaves it unanswered, and ends with one that is no object.
"""

import asyncio
import json
from contextlib import suppress
from typing import Any

from acp.exceptions import RequestError
from acp.stdio import stdio_streams

_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600


class LineTransport:
    """An `acp` transport."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
