"""A rollout, what is drawn for it, and the file that keeps them.

The file is written in the order in which rollouts end, so that none is lost; once all are there it is put into the
order of what was asked for.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from laguna_engine.files import replacing
from laguna_tui.evals.samples import RunFile, TokenTurn, line_of
from laguna_tui.evals.task import Task


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked.

    Attributes:
        name: unique in a run.
        system: the system prompt; empty for none.
        question: the user's message.
        line: all that its line of the prompts' file holds, for the verifier.
        task: whose check is the verifier; None where there is another one, or none.
    """

    name: str
    system: str
    question: str
    line: Mapping[str, Any] = field(default_factory=dict)
    task: Task | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """What all rollouts of a row of the table share.

    Attributes:
        temperature: None as the endpoint has it.
        size: rollouts of each prompt.
    """

    temperature: float | None
    size: int


@dataclass(frozen=True, slots=True)
class Draw:
    """A rollout that is to be made. index: which of the prompt's in its group, from 0."""

    prompt: Prompt
    group: Group
    index: int
    seed: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered to one question.

    Attributes:
        text: without the thinking.
        reasoning: the thinking; empty where there is none, or it is not seen.
        end: how it ended: `answered`, `max_tokens`, `context_full`, `timed_out`, or the endpoint's own word.
        prompt_tokens, generated_tokens: those of an endpoint are its own counts.
        drafted, accepted: tokens; an endpoint's are those since an answer that had some, of all that is done there.
        seconds: from the question to the end of the answer.
        retries: how often it was asked again.
        tokens: the turn; empty where they are not seen.
    """

    text: str
    reasoning: str
    end: str
    prompt_tokens: int
    generated_tokens: int
    drafted: int
    accepted: int
    seconds: float
    retries: int = 0
    tokens: Sequence[TokenTurn] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Rollout:
    """An answer and its reward.

    Attributes:
        prompt: its name.
        temperature, group: those of its group, and how many rollouts of each prompt it has.
        index: which of them, from 0.
        seed: what the draws began with.
        reward: what the verifier said; None where there is none.
        end: how the answer ended.
        answer, reasoning: the model's text.
        check: the end of what the verifier wrote.
        prompt_tokens, generated_tokens: those of an endpoint are its own counts.
        drafted, accepted: tokens; an endpoint's are of all answers since the one before that has some, so only their
            sums over a group say something.
        retries: how often it was asked again.
        ended: when the answer ended, in seconds since 1970.
        seconds: that the last request took, its waiting at the endpoint included.
        tokens: of the turn; empty where the endpoint does not tell them.
    """

    prompt: str
    temperature: float | None
    group: int
    index: int
    seed: int
    reward: float | None
    end: str
    answer: str
    reasoning: str
    check: str
    prompt_tokens: int
    generated_tokens: int
    drafted: int
    accepted: int
    retries: int
    ended: float
    seconds: float
    tokens: Sequence[TokenTurn] = field(default_factory=tuple)

    @property
    def key(self) -> tuple[float | None, int, str, int]:
        """Return what tells it from others of its run."""
        return self.temperature, self.group, self.prompt, self.index


def key_of(draw: Draw) -> tuple[float | None, int, str, int]:
    """Return the key of the rollout that a draw becomes."""
    return draw.group.temperature, draw.group.size, draw.prompt.name, draw.index


class RolloutFile(RunFile[Rollout]):
    """The open file of a run of rollouts."""

    def sort(self, key: Callable[[Rollout], Any]) -> None:
        """Put the rollouts into an order, in the file too: until all of it is on the disk the old one stays."""
        self._check_alone()
        self.records.sort(key=key)
        with replacing(self._path, mode=0o666, keep_mode=True, durable=True) as file:
            file.writelines(map(line_of, (self._facts, *self.records)))
        self._file.close()
        self._file = self._path.open("r+b")
        self._file.seek(0, os.SEEK_END)
