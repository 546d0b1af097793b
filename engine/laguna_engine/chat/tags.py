"""Token by token, the model's output cut into tags and the text between them.

A tag that is a token of the vocabulary is known by its id alone, so an answer that only quotes `<tool_call>` contains
no tag. A tag the vocabulary has no token for is found in the text, however the pieces split it. The end of the turn is
found in both forms, because Laguna sometimes spells it out after a call; `Tag.spelled` tells them apart.
"""

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass

from laguna_engine.chat.vocabulary import END_OF_TURN, EOS_TEXT

TAGS = frozenset(
    {
        *("<think>", "</think>", "<tool_call>", "</tool_call>", END_OF_TURN, EOS_TEXT),
        *("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    }
)


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag; `spelled` when it came as text although the vocabulary has a token for it."""

    text: str
    spelled: bool = False


class TagScanner:
    """Pieces in, tags and text out. Holds back only a broken character and what may yet become a tag.

    Args:
        markers: the vocabulary's tokens that are markers, id to text (`SafeEncoder.markers`).
    """

    def __init__(self, markers: Mapping[int, str]) -> None:
        self._tags = {token: text for token, text in markers.items() if text in TAGS}
        self._with_token = frozenset(self._tags.values())
        self._in_text = sorted((TAGS - self._with_token) | {END_OF_TURN})
        self._split = re.compile("(" + "|".join(map(re.escape, self._in_text)) + ")")
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""

    def feed(self, token: int, piece: bytes) -> list[Tag | str]:
        """What this token decides. `piece` is ignored for a token that is a tag."""
        if (text := self._tags.get(token)) is not None:
            return [*self.finish(), Tag(text)]
        return self._cut(self._decoder.decode(piece), last=False)

    def finish(self) -> list[Tag | str]:
        """What was held back, now that no text follows."""
        return self._cut(self._decoder.decode(b"", final=True), last=True)

    def _cut(self, text: str, last: bool) -> list[Tag | str]:
        text = self._held + text
        end = len(text) if last else self._decided(text)
        self._held = text[end:]
        return [self._item(part) for part in self._split.split(text[:end]) if part]

    def _item(self, part: str) -> Tag | str:
        return Tag(part, spelled=part in self._with_token) if part in self._in_text else part

    def _decided(self, text: str) -> int:
        """Where a tag may have begun that later pieces could complete."""
        for tag in self._in_text:
            start = text.rfind(tag[0])
            if start >= 0 and len(text) - start < len(tag) and tag.startswith(text[start:]):
                return start
        return len(text)
