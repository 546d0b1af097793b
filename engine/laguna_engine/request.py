"""What the engine is asked for: values that are right once they exist."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass

from laguna_engine.errors import RequestError
from laguna_engine.sampling import GREEDY, Sampling


@dataclass(frozen=True, slots=True)
class Request:
    """Continue `tokens`, the whole transcript; what is already in the KV cache is found and reused.

    stop_texts end the generation when they appear and are not shown. stop_tokens end it like the vocabulary's own
    end-of-generation tokens do. max_tokens None goes on until the context is full.
    """

    tokens: Sequence[int]
    sampling: Sampling = GREEDY
    stop_texts: tuple[str, ...] = ()
    stop_tokens: frozenset[int] = frozenset()
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens < 1:
            raise RequestError(f"max_tokens is {self.max_tokens}; ask for at least one token")
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
