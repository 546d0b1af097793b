"""Conversations as tokens by a model file's own template, for models whose format is not built in.

Special tokens come from the template's own text and from the markup of calls that it does not write (`tool_text`),
never from anything else of the conversation. So before it runs, every special token's text in the conversation is
replaced by a private-use character that stands for it, and afterwards the characters are put back as ordinary text:
contents stay as they are, byte for byte, and form no markup.

Templates rewrite what they rendered before (they drop old thoughts, move the list of tools), so a conversation is
rendered whole each time. Its tokens are stable all the same: what stands between two special tokens is tokenized alone,
and where it is what the model itself wrote, the model's own tokens are used.
"""

import re
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Protocol

from laguna_engine.chat.chat_template import ChatTemplate
from laguna_engine.chat.tool_text import Marked

_FIRST_STAND_IN = 0xF0000
"""The first character of a plane for private use; whichever of them the conversation has itself get stand-ins too."""

_STAND_INS = "\U000f0000-\U000ffffd"

_CACHED = 4096
"""Texts between special tokens whose tokens are cached."""


_LONGEST_OPENING = 64
"""Characters of what may stand between a special token and the model's own text."""


class Vocabulary(Protocol):
    """The vocabulary that a renderer needs."""

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Tokenize `text`, without BOS; special tokens are recognised by their text only if `special`."""
        ...

    def piece(self, token: int) -> bytes:
        """Return the token's bytes; for a special token, its text."""
        ...

    @property
    def named(self) -> Mapping[str, int | None]:
        """The tokens by the names that templates have for them: `bos_token`, `eos_token`."""
        ...

    @property
    def add_bos(self) -> bool:
        """Whether conversations begin with BOS where the template has none."""
        ...

    @property
    def eog(self) -> frozenset[int]:
        """The tokens that end an answer."""
        ...

    @property
    def markup(self) -> Mapping[str, int]:
        """The special tokens by their texts."""
        ...


class TemplateRenderer:
    """Renders conversations for one model. Thread-safe as far as its template and vocabulary are.

    Attributes:
        template: the model's template.
        names: what it reads besides the conversation: `bos_token`, `eos_token`.
        markup: its special tokens by their texts.
    """

    def __init__(self, vocabulary: Vocabulary, template: ChatTemplate, n_ctx: int) -> None:
        self.template = template
        self.markup = vocabulary.markup
        longest_first = sorted(self.markup, key=len, reverse=True)
        self._markup = re.compile("|".join(map(re.escape, longest_first)) or r"\Z\A")
        self._unsafe = re.compile(f"{self._markup.pattern}|[{_STAND_INS}]")
        self._vocabulary = vocabulary
        self.names = {
            name: "" if token is None else vocabulary.piece(token).decode("utf-8", "replace")
            for name, token in vocabulary.named.items()
        }
        self._begins = self.names["bos_token"] if vocabulary.add_bos else ""
        # No vocabulary has tokens of more characters on average, blanks aside.
        self._most = 64 * n_ctx
        self._plain: OrderedDict[str, tuple[int, ...]] = OrderedDict()
        # What stands between a special token and the model's own text: nothing, or a line such as its name.
        self._openings = [""]

    def pieces(
        self,
        values: Mapping[str, object],
        written: Iterable[Sequence[int]] = (),
        day: date | None = None,
        *,
        attempt: bool = False,
    ) -> list[tuple[str, Sequence[int]]]:
        """Return a conversation as special tokens and the texts between them, each with its tokens.

        Args:
            values: what the template reads; how the model's turn opens is learned from `add_generation_prompt`.
            written: the model's own tokens in the order in which they stand in the conversation.
            day: when the conversation began.
            attempt: do not give the template up if it fails.

        Raises:
            TemplateFailed: no template can be rendered.
        """
        own = self._own_tokens(written)
        found: list[tuple[str, Sequence[int]]] = []
        render = partial(self.template.attempt if attempt else self.template.render, day=day)
        split = list(self._split(values, render))
        opening = split[-1][0]
        if values.get("add_generation_prompt") and len(opening) < _LONGEST_OPENING and opening not in self._openings:
            # With and without thinking there are two; where it is no line of its own, others come and go.
            self._openings = ["", *self._openings[1:][-3:], opening]
        for text, token in split:
            if token is not None:
                found.append((text, (token,)))
            elif text:
                before = next((each for each in self._openings if own.get(_after(each, text))), None)
                if before is None:
                    found.append((text, self._tokenized(text)))
                else:
                    found.append((text, (*self._tokenized(before), *own[_after(before, text)].popleft())))
        return found

    def _split(
        self, values: Mapping[str, object], render: Callable[[Mapping[str, object], int], str]
    ) -> Iterator[tuple[str, int | None]]:
        """Yield special tokens and the texts between them."""
        stand_ins: dict[str, str] = {}

        def protected(value: object) -> object:
            match value:
                case Marked():
                    parts = enumerate(value.parts)
                    return "".join(part if place % 2 else self._unsafe.sub(stand_in, part) for place, part in parts)
                case str():
                    return self._unsafe.sub(stand_in, value)
                case Mapping():
                    return {protected(key): protected(each) for key, each in value.items()}
                case list() | tuple():
                    return [protected(each) for each in value]
            return value

        def stand_in(found: re.Match[str]) -> str:
            return stand_ins.setdefault(found[0], chr(_FIRST_STAND_IN + len(stand_ins)))

        given = {name: protected(value) for name, value in values.items()}
        rendered = render({**given, **self.names}, self._most)
        back = str.maketrans({character: text for text, character in stand_ins.items()})
        if not rendered.startswith(self._begins):
            rendered = self._begins + rendered
        at = 0
        for found in self._markup.finditer(rendered):
            yield rendered[at : found.start()].translate(back), None
            yield found[0], self.markup[found[0]]
            at = found.end()
        yield rendered[at:].translate(back), None

    def _own_tokens(self, written: Iterable[Sequence[int]]) -> Mapping[str, deque[Sequence[int]]]:
        """Return what the model wrote between special tokens, by its text."""
        special = set(self.markup.values())
        found: dict[str, deque[Sequence[int]]] = {}
        for tokens in written:
            run: list[int] = []
            for token in (*tokens, None):
                if token is not None and token not in special:
                    run.append(token)
                elif run:
                    text = b"".join(map(self._vocabulary.piece, run)).decode("utf-8", "replace")
                    found.setdefault(text, deque()).append(run)
                    run = []
        return found

    def _tokenized(self, text: str) -> Sequence[int]:
        tokens = self._plain.get(text)
        if tokens is None:
            tokens = tuple(self._vocabulary.tokenize(text, special=False))
            self._plain[text] = tokens
            if len(self._plain) > _CACHED:
                self._plain.popitem(last=False)
        else:
            self._plain.move_to_end(text)
        return tokens


def _after(opening: str, text: str) -> str:
    """Return what follows an opening; empty if `text` begins otherwise."""
    return text[len(opening) :] if text.startswith(opening) else ""
