"""Parity of drafted and plain answers: which are equal, and where and by which margin the others differ."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from laguna_engine.config import Sampling
from laguna_engine.engine import Engine
from laguna_engine.events import Cause
from laguna_tui.bench.answer_runs import AnswerSample
from laguna_tui.bench.statistics import of_variant
from laguna_tui.bench.workload import BenchPrompt

NEAR_TIE = 0.5
"""Logits by which two tokens may differ and still be swapped by rounding alone: kernels for one row and for several
differ by up to 0.13 on the tiny models this was measured on, and a wrong cache shows as 7 or more."""


_CAUSES = {
    None: "",
    Cause.VERIFIED: ", from verifying several tokens at once",
    Cause.READ: ", from reading the prompt in other pieces",
}


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """Replay of an answer that differs.

    Attributes:
        margin: Logit of the plain token less that of the other one; None when the replay gave the answer itself, which
            means that plain decoding is undecided there.
        cause: What was computed in batches of another width.
    """

    margin: float | None
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """First difference between an answer and the plain one, also as JSON.

    Attributes:
        way: Name of the variant.
        prompt: Name of the prompt.
        index: Index of the first differing token.
        plain: Text of the plain token there; empty after the end.
        drafted: Text of the answer's token there; empty after the end.
        look: Result of the replay; None without one.
    """

    way: str
    prompt: str
    index: int
    plain: str
    drafted: str
    look: "ReplayResult | None" = None

    @property
    def near_tie(self) -> bool | None:
        """Return whether rounding explains it; None without a replay."""
        if self.look is None:
            return None
        return self.look.margin is None or abs(self.look.margin) < NEAR_TIE

    def fields(self) -> dict[str, object]:
        """Return JSON-able values."""
        look = self.look and {"margin": self.look.margin, "cause": self.look.cause and self.look.cause.value}
        return {**asdict(self), "look": look, "near_tie": self.near_tie}

    def line(self) -> str:
        """Return a sentence fragment."""
        where = f"{self.way}, {self.prompt}: token {self.index} is {self.drafted!r}, plainly {self.plain!r}"
        if self.look is None:
            return where
        if self.look.margin is None:
            return f"{where}; a near-tie, because plain decoding gave both"
        cause = _CAUSES[self.look.cause] if self.near_tie else ""
        return f"{where}; {'a near-tie' if self.near_tie else 'NO near-tie'}, margin {self.look.margin:.3f}{cause}"


@dataclass(frozen=True, slots=True)
class Parity:
    """Comparison of a variant's answers with the plain ones.

    Attributes:
        way: Name of the variant.
        prompts: Prompts answered both ways.
        same: Prompts with equal answers every time.
        differences: First difference of each other prompt.
    """

    way: str
    prompts: int
    same: int
    differences: tuple[AnswerDifference, ...] = ()

    def fields(self) -> dict[str, object]:
        """Return JSON-able values."""
        return {"prompts": self.prompts, "same": self.same, "differences": [each.fields() for each in self.differences]}


Replayer = Callable[[AnswerSample], ReplayResult]
"""Replays an answer that differs."""


def first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    """Return the first index at which two answers differ, the end of one included; None when they are equal."""
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return index
    return None if len(one) == len(other) else min(len(one), len(other))


def compare(
    samples: Sequence[AnswerSample], way: str, base: str, text: Callable[[int], str], replay: Replayer | None = None
) -> Parity:
    """Compare every answer of `way` with the first plain one to the same prompt."""
    plain = {sample.prompt: sample for sample in reversed(of_variant(samples, base))}
    prompts, differing = set(), {}
    for sample in of_variant(samples, way):
        if sample.prompt in plain:
            prompts.add(sample.prompt)
            index = first_difference(plain[sample.prompt].tokens, sample.tokens)
            if index is not None and sample.prompt not in differing:
                differing[sample.prompt] = (sample, index)
    differences = tuple(
        AnswerDifference(
            way,
            name,
            index,
            _text_at(plain[name].tokens, index, text),
            _text_at(sample.tokens, index, text),
            replay(sample) if replay else None,
        )
        for name, (sample, index) in differing.items()
    )
    return Parity(way, len(prompts), len(prompts) - len(differences), differences)


def pieces(engine: Engine) -> Callable[[int], str]:
    """Return a function from token ids to text, for the engine's model."""
    return lambda token: engine.vocab.piece(token).decode("utf-8", "replace")


def replayer(engine: Engine, prompts: Sequence[BenchPrompt], sampling: Sampling) -> Replayer:
    """Return a function that replays an answer."""
    by_name = {prompt.name: prompt for prompt in prompts}

    def replay(sample: AnswerSample) -> ReplayResult:
        rounds = [(round_.drafted, round_.accepted) for round_ in sample.rounds]
        found = engine.replay(by_name[sample.prompt].tokens, sample.tokens, sampling, rounds=rounds).divergence
        return ReplayResult(None) if found is None else ReplayResult(found.margin, found.cause)

    return replay


def _text_at(tokens: Sequence[int], index: int, text: Callable[[int], str]) -> str:
    return text(tokens[index]) if index < len(tokens) else ""
