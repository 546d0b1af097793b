"""The system block that every chat opens with: the app's own prompt and tool list, through the app's own renderer."""

from __future__ import annotations

from pathlib import Path

import apptools  # noqa: F401  (makes the app importable)
from tokenizer import SPECIALS, load
from tokenizers import Tokenizer

from laguna_engine.chat.encoding import SafeEncoder
from laguna_engine.chat.template import Family, Renderer
from laguna_tui.agent.tools.nano.profile import NANO


class HuggingFaceVocabulary:
    """The app's `Tokenizer` protocol over a `tokenizers.Tokenizer`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Token ids of the text; this recipe only ever encodes text without special tokens in it."""
        ids: list[int] = self.tokenizer.encode(text).ids
        assert special or not any(map(self.is_control, ids))
        return ids

    def id_of(self, text: str) -> int | None:
        """The id of a special token."""
        return self.tokenizer.token_to_id(text) if text in SPECIALS else None

    def is_control(self, token: int) -> bool:
        """Whether an id is one of the special tokens."""
        return token < len(SPECIALS)

    def piece(self, token: int) -> bytes:
        """The bytes of one token."""
        text: str = self.tokenizer.decode([token], skip_special_tokens=False)
        return text.encode()


def header(work: Path) -> str:
    """The text between the EOS token and the first user turn: the app's system prompt and tool list."""
    tokenizer = load(work)
    vocabulary = HuggingFaceVocabulary(tokenizer)
    ids = Renderer(SafeEncoder(vocabulary), Family.XS_2_1, thinking=False).system(NANO.system_prompt, NANO.specs)
    text: str = tokenizer.decode(ids[1:], skip_special_tokens=False)
    assert [ids[0], *tokenizer.encode(text).ids] == ids, "the header must not depend on where its parts are joined"
    return text
