"""Whether drafting changed an answer: what is equal, and where and how narrowly the rest differs."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from laguna_engine.config import Sampling
from laguna_engine.engine import Engine
from laguna_engine.events import Cause
from laguna_tui.bench.runner import Sample
from laguna_tui.bench.statistics import of_way
from laguna_tui.bench.workload import BenchPrompt

NEAR_TIE = 0.5
"""Logits by which two tokens may differ and still be swapped by rounding alone: kernels for one row and for several
differ by up to 0.13 on the tiny models this was measured on, and a wrong cache shows as 7 and more."""


_CAUSES = {
    None: "",
    Cause.VERIFIED: ", from verifying several tokens at once",
    Cause.READ: ", from reading the prompt in other pieces",
}


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A closer look at an answer that differs.

    margin: how much better the target finds the plain token, as logits; None when the answer came out as it was, which
    means that plain decoding itself is undecided there. cause: what was computed in batches of another width.
    """

    margin: float | None
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """Where an answer first departs from the plain one.

    plain, drafted: the text of the token each has there, empty where it has ended. look: what decoding it plainly once
    more says, None when nobody looked.
    """

    way: str
    prompt: str
    index: int
    plain: str
    drafted: str
    look: "ReplayResult | None" = None

    @property
    def near_tie(self) -> bool | None:
        """Whether rounding explains it; None when nobody looked."""
        if self.look is None:
            return None
        return self.look.margin is None or abs(self.look.margin) < NEAR_TIE

    def fields(self) -> dict[str, object]:
        """As JSON-able values."""
        look = self.look and {"margin": self.look.margin, "cause": self.look.cause and self.look.cause.value}
        return {**asdict(self), "look": look, "near_tie": self.near_tie}

    def line(self) -> str:
        """As a sentence fragment."""
        where = f"{self.way}, {self.prompt}: token {self.index} is {self.drafted!r}, plainly {self.plain!r}"
        if self.look is None:
            return where
        if self.look.margin is None:
            return f"{where}; a near-tie, because plain decoding gave both"
        cause = _CAUSES[self.look.cause] if self.near_tie else ""
        return f"{where}; {'a near-tie' if self.near_tie else 'NO near-tie'}, margin {self.look.margin:.3f}{cause}"


@dataclass(frozen=True, slots=True)
class Parity:
    """Of `prompts` answered both ways, how many came out the same every time."""

    way: str
    prompts: int
    same: int
    differences: tuple[AnswerDifference, ...] = ()

    def fields(self) -> dict[str, object]:
        """As JSON-able values."""
        return {"prompts": self.prompts, "same": self.same, "differences": [each.fields() for each in self.differences]}


Replayer = Callable[[Sample], ReplayResult]
"""Looks closely at an answer that differs."""


def first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    """The first index at which two answers are not the same, the end of one included; None when they are equal."""
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return index
    return None if len(one) == len(other) else min(len(one), len(other))


def compare(
    samples: Sequence[Sample], way: str, base: str, text: Callable[[int], str], look: Replayer | None = None
) -> Parity:
    """Hold every answer of `way` against the first plain one to the same prompt."""
    plain = {sample.prompt: sample for sample in reversed(of_way(samples, base))}
    prompts, differing = set(), {}
    for sample in of_way(samples, way):
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
            look(sample) if look else None,
        )
        for name, (sample, index) in differing.items()
    )
    return Parity(way, len(prompts), len(prompts) - len(differences), differences)


def pieces(engine: Engine) -> Callable[[int], str]:
    """The text of a token of the engine's model."""
    return lambda token: engine.vocab.piece(token).decode("utf-8", "replace")


def replayer(engine: Engine, prompts: Sequence[BenchPrompt], sampling: Sampling) -> Replayer:
    """Looks at a differing answer by decoding it once more."""
    by_name = {prompt.name: prompt for prompt in prompts}

    def look(sample: Sample) -> ReplayResult:
        rounds = [(spun.drafted, spun.accepted) for spun in sample.rounds]
        found = engine.replay(by_name[sample.prompt].tokens, sample.tokens, sampling, rounds=rounds).divergence
        return ReplayResult(None) if found is None else ReplayResult(found.margin, found.cause)

    return look


def _text_at(tokens: Sequence[int], index: int, text: Callable[[int], str]) -> str:
    return text(tokens[index]) if index < len(tokens) else ""
