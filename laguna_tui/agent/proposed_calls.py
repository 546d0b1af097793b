"""Calls that a model wrote as JSON in its answer, in a block or at its end, as small models do, instead of in its form.

They are shown and never run: they may as well be examples.
"""

import re
from collections.abc import Container, Iterator
from typing import Any

import msgspec

from laguna_engine.chat.messages import ToolCall

_BLOCK = re.compile(r"^```\w*[ \t]*\n(.*?)\n```[ \t]*$", re.DOTALL | re.MULTILINE)
# An answer with more is no call.
_LIMIT_CHARS = 1 << 16


class _Written(msgspec.Struct):
    name: str
    arguments: dict[str, Any] = {}
    parameters: dict[str, Any] = {}


def proposed_calls(answer: str, tools: Container[str]) -> Iterator[ToolCall]:
    """Yield the calls of offered tools in an answer that made none."""
    text = answer[:_LIMIT_CHARS].replace("\r\n", "\n").strip()
    # The last line that begins an object; without one the whole text, which is none.
    end = text[text.rfind("\n{") + 1 :]
    for block in [text] if text.startswith("{") else [*_BLOCK.findall(text), end]:
        try:
            written = msgspec.json.decode(block, type=_Written)
        except msgspec.DecodeError:
            continue
        if written.name in tools:
            yield ToolCall(written.name, written.arguments or written.parameters)
