"""What the engine is asked for: values that are right once they exist."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass

from laguna_engine.errors import RequestError
from laguna_engine.events import Source
from laguna_engine.sampling import GREEDY, Sampling


@dataclass(frozen=True, slots=True)
class Drafting:
    """How one request is sped up; the answer is the same either way.

    enabled: False decodes plainly. sources: who may draft, None for whoever is there. length: tokens drafted every
    round, None to let the engine choose each time, 0 included. sampled: let drafters that can sample draw with the
    noise that the answer is drawn with, which pays where many tokens are about equally likely; otherwise drafts are the
    likeliest tokens. adapter: the name of the drafter's adapter, None for the drafter as it is. files: tokens of the
    files that are open or were read, latest last, to copy from. script: the draft of each round, instead of any
    drafter's; nothing is learned from it.
    """

    enabled: bool = True
    sources: frozenset[Source] | None = None
    length: int | None = None
    sampled: bool = False
    adapter: str | None = None
    files: tuple[Sequence[int], ...] = ()
    script: tuple[Sequence[int], ...] | None = None

    def __post_init__(self) -> None:
        if self.length is not None and self.length < 0:
            raise RequestError(f"a draft length of {self.length} makes no sense; give 0 or more")


DRAFTING = Drafting()
"""Whoever is there drafts as much as pays."""

PLAIN = Drafting(enabled=False)
"""One token after the other."""


@dataclass(frozen=True, slots=True)
class Request:
    """Continue `tokens`, the whole transcript; what is already in the KV cache is found and reused.

    The answer depends on the tokens and the sampling settings alone, seed included: what is drafted, and how drafts are
    made, changes the speed only (up to rounding, see `Speculation`).

    stop_texts end the generation when they appear and are not shown. stop_tokens end it like the vocabulary's own
    end-of-generation tokens do. max_tokens: None goes on until the context is full; 0 generates nothing and only reads
    the prompt, ahead of a request that begins with it. drafting: how it is sped up; when reading ahead, the same as in
    the request to come, so that the drafter learns the prompt too.
    """

    tokens: Sequence[int]
    sampling: Sampling = GREEDY
    stop_texts: tuple[str, ...] = ()
    stop_tokens: frozenset[int] = frozenset()
    max_tokens: int | None = None
    drafting: Drafting = DRAFTING

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens < 0:
            raise RequestError(f"max_tokens is {self.max_tokens}; give 0 to read the prompt only, or more")
        if not all(self.stop_texts):
            raise RequestError("a stop text is empty, which would stop everywhere; remove it")


def checked_tokens(tokens: Sequence[int], vocabulary: int) -> list[int]:
    """A copy of `tokens` as plain ints; RequestError if there are none or one is outside the vocabulary."""
    try:
        copied = list(map(operator.index, tokens))
    except TypeError as error:
        raise RequestError(f"token ids must be integers ({error}); tokenize with this model") from error
    if not copied:
        raise RequestError("the prompt has no tokens; give at least one")
    if min(copied) < 0 or max(copied) >= vocabulary:
        wrong = next(token for token in copied if not 0 <= token < vocabulary)
        raise RequestError(f"token {wrong} is outside the vocabulary of {vocabulary}; tokenize with this model")
    return copied
