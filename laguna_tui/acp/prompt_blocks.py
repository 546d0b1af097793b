"""Turns a client's prompt, a list of blocks, into a message: texts, mentions of linked files, embedded texts.

A block that the model cannot read is left out, and a sentence says so.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acp import schema

from laguna_tui.base.paths import escaped
from laguna_tui.base.text import sanitize_line
from laguna_tui.context.frame import headed
from laguna_tui.context.mentions import mentions, written

_KINDS = frozenset({"text", "image", "audio", "resource_link", "resource"})
_UNKNOWN = "laguna-tui/unknown-kind"
_LINES = re.compile(r"L(\d{1,9})(?:C\d+)?(?:[-:]L?(\d{1,9})(?:C\d+)?)?")
"""L10, L10-L20 and L10C1-L20C5, as web pages and editors write them; Zed writes L10:20."""
_TEXT_ONLY = "The {kind} was left out: this model reads only text."
_NOT_KNOWN = 'A part of the message was left out: laguna-tui does not know its type "{kind}"; update laguna-tui.'
_NOT_A_FILE = "{uri} was not read: only files in the folder can be attached."


@dataclass(slots=True)
class PromptMessage:
    """A message, and sentences about what was left out of it."""

    text: str = ""
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, blocks: Sequence[Any], folder: Path) -> "PromptMessage":
        """Return the message of a prompt's blocks. folder: Without links in its path."""
        message = cls()
        linked: list[str] = []
        for block in blocks:
            match block:
                case schema.TextContentBlock(field_meta={**meta}) if _UNKNOWN in meta:
                    message.notes.append(_NOT_KNOWN.format(kind=meta[_UNKNOWN]))
                case schema.TextContentBlock(text=text):
                    message._append(text, apart=bool(linked) and message.text.endswith(linked[-1]))
                case schema.ResourceContentBlock(uri=uri):
                    target = _Target.of(uri, folder)
                    if target.is_file:
                        linked.append(written(target.name, target.first, target.last))
                    else:
                        message.notes.append(_NOT_A_FILE.format(uri=uri))
                    message._append(linked[-1] if target.is_file else uri, apart=True)
                case schema.EmbeddedResourceContentBlock(resource=schema.TextResourceContents(uri=uri, text=text)):
                    # Not a mention: the editor's text may be newer than the file.
                    message.text += "\n" + headed(_Target.of(uri, folder).title, text)
                case _:
                    message.notes.append(_TEXT_ONLY.format(kind=_kind(block)))
        # A linked file is attached even if the text before it opens a code block.
        found = {mention.text for mention in mentions(message.text)}
        missing = dict.fromkeys(mention for mention in linked if mention not in found)
        message.text = "".join(f"{mention}\n" for mention in missing) + message.text
        return message

    def _append(self, text: str, *, apart: bool) -> None:
        """Append a text. apart: With a blank between it and the text before."""
        if apart and self.text and text and not (self.text[-1].isspace() or text[0].isspace()):
            self.text += " "
        self.text += text


@dataclass(frozen=True, slots=True)
class _Target:
    """The target of a URI: a file, relative to the folder if inside it, perhaps with lines; or something else."""

    name: str
    is_file: bool = False
    first: int | None = None
    last: int | None = None

    @classmethod
    def of(cls, uri: str, folder: Path) -> "_Target":
        try:
            parsed = urlsplit(uri)
        except ValueError:
            return cls(escaped(uri))
        if parsed.scheme != "file" or not parsed.path:
            return cls(escaped(uri))
        path = Path(os.path.normpath(unquote(parsed.path)))
        if not path.is_relative_to(folder):
            # The client's path of the folder may have links in it.
            path = path.parent.resolve() / path.name
        inside = path.relative_to(folder) if path.is_relative_to(folder) else path
        lines = _LINES.fullmatch(parsed.fragment)
        first = int(lines[1]) if lines else None
        return cls(escaped(str(inside)), True, first, int(lines[2] or lines[1]) if lines else None)

    @property
    def title(self) -> str:
        """The name with the lines."""
        if self.first is None:
            return self.name
        where = f"line {self.first}" if self.first == self.last else f"lines {self.first}-{self.last}"
        return f"{self.name} ({where})"


def with_known_blocks(message: dict[str, Any]) -> dict[str, Any]:
    """Replace blocks of a type that the library refuses by texts that `PromptMessage` leaves out."""
    params = message.get("params")
    if message.get("method") == "session/prompt" and isinstance(params, dict):
        blocks = params.get("prompt")
        if isinstance(blocks, list):
            return {**message, "params": {**params, "prompt": [_known(block) for block in blocks]}}
    return message


def _known(block: Any) -> Any:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or kind in _KINDS:
        return block
    return {"type": "text", "text": "", "_meta": {_UNKNOWN: sanitize_line(kind)}}


def _kind(block: Any) -> str:
    return "binary resource" if isinstance(block, schema.EmbeddedResourceContentBlock) else block.type
