"""Laguna Nano as the app runs it: through the app's engine and its chat renderer, one conversation at a time.

Runs in the app's environment. Deals in token ids and text; what is asked and what is right are `cases.py`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apptools  # noqa: F401  (makes the app importable)

from laguna_engine.chat.encoding import SafeEncoder
from laguna_engine.chat.template import Family, Renderer
from laguna_engine.config import GREEDY, Sampling, Speculation
from laguna_engine.constrain.base import ConstraintSpec
from laguna_engine.draft.dflash import DFlash
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.events import Round, Token
from laguna_tui.agent.tools.nano.profile import NANO

CONTEXT = 4096
LONGEST_TURN, LONGEST_CODE = 320, 160
TEMPERATURE, TOP_K = 0.7, 20
PROPOSED = 7  # tokens of a draft, in every round: then rounds depend on the drafter alone, and not on the clock


def sampled(seed: int) -> Sampling:
    """How answers are drawn where they are not greedy."""
    return Sampling(temperature=TEMPERATURE, top_k=TOP_K, seed=seed)


class Speaker:
    """An open model, with a drafter or without; `rounds` and `committed` count what speculation did."""

    def __init__(self, model: Path, drafter: Path | None = None) -> None:
        speculation = Speculation.FAST if drafter else Speculation.OFF
        options = EngineOptions(
            model, n_ctx=CONTEXT, threads=1, swa_full=True, drafter=drafter, speculation=speculation
        )  # fmt: skip
        self.engine = Engine.open(options)
        self.vocab = self.engine.vocab
        self.encoder = SafeEncoder(self.vocab)
        self.drafting = Drafting(sources=frozenset({DFlash.source}), length=PROPOSED)
        self.rounds: list[Round] = []
        self.committed = 0

    def write(
        self,
        ids: Sequence[int],
        longest: int,
        sampling: Sampling = GREEDY,
        stops: frozenset[int] = frozenset(),
        constraints: tuple[ConstraintSpec, ...] = (),
    ) -> list[int]:
        """What the model says after `ids`, with the stop token if it came to one."""
        request = Request(
            tuple(ids),
            sampling=sampling,
            stop_tokens=stops,
            max_tokens=longest,
            drafting=self.drafting,
            constraints=constraints,
        )  # fmt: skip
        events = list(self.engine.generate(request))
        said = [event.id for event in events if isinstance(event, Token)]
        rounds = [event for event in events if isinstance(event, Round)]
        self.rounds += rounds
        self.committed += max(0, len(said) - 1) if rounds else 0
        return said


class Chat:
    """One conversation, as the app would hold it; remembers which tokens of `ids` the model wrote."""

    def __init__(self, speaker: Speaker, sampling: Sampling = GREEDY) -> None:
        self.speaker, self.sampling = speaker, sampling
        self.renderer = Renderer(speaker.encoder, Family.XS_2_1, thinking=False)
        self.ids = self.renderer.system(NANO.system_prompt, NANO.specs)
        self.header = len(self.ids)
        self.spans: list[tuple[int, int]] = []

    def reply(self, turn: list[int]) -> str:
        """Append a turn and the model's reply; returns the reply without its end token."""
        self.ids += turn + self.renderer.generation_prompt()
        said = self.speaker.write(
            self.ids, LONGEST_TURN, self.sampling, self.renderer.stop_tokens, self.constraints()
        )  # fmt: skip
        self.spans.append((len(self.ids), len(self.ids) + len(said)))
        text = [token for token in said if token not in self.renderer.stop_tokens]
        self.ids += text + self.renderer.close_assistant(text)
        return self.speaker.encoder.decode(text)

    def constraints(self) -> tuple[ConstraintSpec, ...]:
        """What the next reply is held to: nothing."""
        return ()

    def ask(self, question: str) -> str:
        """The user speaks."""
        return self.reply(self.renderer.user(question))

    def give(self, result: str) -> str:
        """A tool has answered."""
        return self.reply(self.renderer.tool_response(result))
