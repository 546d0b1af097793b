"""Proof that drafting changed nothing: an answer decoded once more, plainly, and compared token by token.

Where fast kernels round differently, two tokens that are as good as equal can change places. What made them is found
out by an experiment: the answer is decoded a third time, with as many tokens verified at once as the first time. If
its token comes back, that was it; if not, the prompt was read in other pieces, from another cached prefix.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from laguna_engine.config import PLAIN, Drafting, Request, Sampling
from laguna_engine.events import Cause, Event, Token


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where plain decoding went on differently.

    index: of the token in the answer. expected: the answer's token id. found: plain decoding's. margin: the logit of
    `found` minus that of `expected` there; near 0, the two were equally good up to rounding. cause: of the rounding;
    None where tokens are drawn, or where the answer's rounds are not known.
    """

    index: int
    expected: int
    found: int
    margin: float
    cause: Cause | None = None


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
    rounds: Sequence[tuple[int, int]] | None = None,
) -> Replay:
    """Decode as many tokens behind `prompt` as `answer` has, and compare.

    generate: the engine's. margin: of two tokens behind a text, found minus expected. sampling: with the seed that the
    answer was made with (`Stats.seed`). progress: called with the number of equal tokens so far. rounds: how many
    tokens each round of the answer drafted and accepted (`Round`), none if it was decoded plainly; None for unknown.
    """
    compared = 0
    for event in generate(Request(prompt, sampling=sampling, max_tokens=len(answer), drafting=PLAIN)):
        if not isinstance(event, Token):
            continue
        expected = answer[compared]
        if event.id != expected:
            difference = margin([*prompt, *answer[:compared]], expected, event.id)
            cause = _cause(generate, prompt, answer[: compared + 1], sampling, rounds)
            return Replay(compared, Divergence(compared, expected, event.id, difference, cause), complete=True)
        compared += 1
        progress(compared)
    return Replay(compared, None, complete=compared == len(answer))


def _cause(
    generate: Callable[[Request], Iterable[Event]],
    prompt: Sequence[int],
    answer: Sequence[int],
    sampling: Sampling,
    rounds: Sequence[tuple[int, int]] | None,
) -> Cause | None:
    """Why the last token of `answer` is another one than plain decoding's."""
    if rounds is None or sampling.temperature > 0:
        return None
    script = _script(answer, rounds)
    if not any(script):
        return Cause.READ
    request = Request(prompt, sampling=sampling, max_tokens=len(answer), drafting=Drafting(script=script))
    again = [event.id for event in generate(request) if isinstance(event, Token)]
    return Cause.VERIFIED if again == list(answer) else Cause.READ


def _script(answer: Sequence[int], rounds: Sequence[tuple[int, int]]) -> tuple[Sequence[int], ...]:
    """Drafts as long as those that made `answer`; as many of their tokens are accepted if it comes out the same."""
    script: list[Sequence[int]] = []
    last = 0
    for drafted, accepted in rounds:
        coming = answer[last + 1 : last + 1 + accepted]
        after = answer[last + 1 + accepted] if last + 1 + accepted < len(answer) else 0
        # Any other token is rejected there.
        script.append([*coming, *[after - 1 if after else 1] * (drafted - len(coming))])
        last += accepted + 1
        if last + 1 >= len(answer):
            break
    return tuple(script)
