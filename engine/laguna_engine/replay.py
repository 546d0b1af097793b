"""Proof that drafting changed nothing: an answer decoded once more, plainly, and compared token by token."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from laguna_engine.events import Event, Token
from laguna_engine.request import PLAIN, Request
from laguna_engine.sampling import Sampling


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where plain decoding went on differently.

    index: of the token in the answer. expected: the answer's token id. found: plain decoding's. margin: the logit of
    `found` minus that of `expected` there; near 0, the two were equally good up to rounding.
    """

    index: int
    expected: int
    found: int
    margin: float


@dataclass(frozen=True, slots=True)
class Replay:
    """How an answer compares: `compared` tokens were equal before the divergence, if there is one.

    complete: whether the whole answer was looked at, or a divergence found; False when it was cancelled.
    """

    compared: int
    divergence: Divergence | None
    complete: bool

    @property
    def identical(self) -> bool:
        """Whether every token of the answer came out the same."""
        return self.complete and self.divergence is None


def replay(
    generate: Callable[[Request], Iterable[Event]],
    margin: Callable[[list[int], int, int], float],
    prompt: Sequence[int],
    answer: Sequence[int],
    sampling: Sampling,
    progress: Callable[[int], None],
) -> Replay:
    """Decode as many tokens behind `prompt` as `answer` has, and compare.

    generate: the engine's. margin: of two tokens behind a text, found minus expected. sampling: with the seed that the
    answer was made with (`Stats.seed`). progress: is told how many tokens were equal so far.
    """
    compared = 0
    for event in generate(Request(prompt, sampling=sampling, max_tokens=len(answer), drafting=PLAIN)):
        if not isinstance(event, Token):
            continue
        expected = answer[compared]
        if event.id != expected:
            difference = margin([*prompt, *answer[:compared]], expected, event.id)
            return Replay(compared, Divergence(compared, expected, event.id, difference), complete=True)
        compared += 1
        progress(compared)
    return Replay(compared, None, complete=compared == len(answer))
