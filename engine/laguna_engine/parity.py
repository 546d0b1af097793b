"""Replays an answer without drafts and compares it token by token, to verify that drafting changed nothing.

Where fast kernels round differently, two nearly equal tokens can swap. The cause is found by an experiment: the answer
is decoded a third time, with the batch widths of the first time. If its token returns, verification was the cause;
if not, the prefill had other batch widths, because another prefix was cached.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from laguna_engine.config import PLAIN, Drafting, Request
from laguna_engine.events import Cause, Event, Token
from laguna_engine.llama.sampler import gumbel


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference between an answer and plain decoding.

    Attributes:
        index: position in the answer.
        expected: the answer's token.
        found: plain decoding's token.
        margin: logit of `found` minus that of `expected`, each with its noise if drawn; near 0 they were equal up
            to rounding.
        cause: of the different rounding; None if the answer's rounds are unknown.
    """

    index: int
    expected: int
    found: int
    margin: float
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """Result of a replay.

    Attributes:
        compared: equal tokens before the divergence, or in all.
        divergence: the first difference, if there is one.
        complete: whether the whole answer was compared or a divergence found; False if cancelled.
    """

    compared: int
    divergence: Divergence | None
    complete: bool

    @property
    def identical(self) -> bool:
        """Whether all tokens of the answer are equal."""
        return self.complete and self.divergence is None


def replay(
    generate: Callable[[Request], Iterable[Event]],
    margin: Callable[[list[int], int, int], float],
    request: Request,
    answer: Sequence[int],
    progress: Callable[[int], None],
    rounds: Sequence[tuple[int, int]] | None = None,
) -> Replay:
    """Decode as many tokens for `request` as `answer` has, without drafts, and compare.

    Args:
        generate: the engine's method.
        margin: called with a text and two tokens, expected and found; returns the difference of their logits.
        request: the prompt, the sampling settings with the answer's seed (`Stats.seed`), and the constraints.
        answer: tokens of the answer.
        progress: called with the number of equal tokens so far.
        rounds: tokens drafted and accepted by each round of the answer (`Round`), empty if it was decoded plainly; None
            if unknown.
    """
    compared = 0
    for event in generate(replace(request, max_tokens=len(answer), drafting=PLAIN)):
        if not isinstance(event, Token):
            continue
        expected = answer[compared]
        if event.id != expected:
            before = [*request.tokens, *answer[:compared]]
            difference = margin(before, expected, event.id) + _noise(request, len(before), expected, event.id)
            cause = _cause(generate, request, answer[: compared + 1], rounds)
            return Replay(compared, Divergence(compared, expected, event.id, difference, cause), complete=True)
        compared += 1
        progress(compared)
    return Replay(compared, None, complete=compared == len(answer))


def _noise(request: Request, position: int, expected: int, found: int) -> float:
    """Return by how much the draw preferred `found`, in logits."""
    if not request.sampling.temperature or request.sampling.seed is None:
        return 0.0
    of_expected, of_found = gumbel(request.sampling.seed, position, (expected, found))
    return request.sampling.temperature * float(of_found - of_expected)


def _cause(
    generate: Callable[[Request], Iterable[Event]],
    request: Request,
    answer: Sequence[int],
    rounds: Sequence[tuple[int, int]] | None,
) -> Cause | None:
    """Find out why the last token of `answer` differs from plain decoding's."""
    if rounds is None:
        return None
    script = _script(answer, rounds)
    if not any(script):
        return Cause.READ
    scripted = replace(request, max_tokens=len(answer), drafting=Drafting(script=script))
    again = [event.id for event in generate(scripted) if isinstance(event, Token)]
    return Cause.VERIFIED if again == list(answer) else Cause.READ


def _script(answer: Sequence[int], rounds: Sequence[tuple[int, int]]) -> tuple[Sequence[int], ...]:
    """Return drafts of the same lengths as those of `answer`, with as many accepted tokens if it is reproduced."""
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
