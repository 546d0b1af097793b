"""A FAKE vocabulary for the chat tests: one token per byte, plus chosen special tokens.

Used where a test needs a vocabulary that no model file at hand has (no specials at all, user-defined markers). Tests on
a real vocabulary use the tiny model.
"""

import re

LAGUNA_SPECIALS = (
    "〈|EOS|〉",
    "<think>",
    "</think>",
    "<assistant>",
    "</assistant>",
    "<tool_call>",
    "</tool_call>",
)


class FakeVocabulary:
    """Bytes are tokens 0 to 255, specials follow. `leaky` specials are also recognised in untrusted text, like
    llama.cpp's user-defined tokens."""

    def __init__(self, specials: tuple[str, ...] = LAGUNA_SPECIALS, leaky: tuple[str, ...] = ()) -> None:
        self.ids = {text: 256 + index for index, text in enumerate(specials)}
        self._texts = {token: text for text, token in self.ids.items()}
        self._leaky = leaky
        self.named: dict[str, int | None] = {"bos_token": None, "eos_token": self.ids.get("<eos>")}
        self.add_bos, self.eog = False, frozenset[int]()

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        known = tuple(self.ids) if special else self._leaky
        pieces = re.split("(" + "|".join(map(re.escape, known)) + ")", text) if known else [text]
        return [
            token
            for piece in pieces
            for token in ([self.ids[piece]] if piece in known else list(piece.encode("utf-8")))
        ]

    @property
    def markup(self) -> dict[str, int]:
        return self.ids

    def id_of(self, text: str) -> int | None:
        return self.ids.get(text)

    def is_control(self, token: int) -> bool:
        return token > 255

    def piece(self, token: int) -> bytes:
        return self._texts[token].encode() if token > 255 else bytes([token])
