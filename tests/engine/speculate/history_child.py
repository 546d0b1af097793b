"""Run in a process of its own, because strict arithmetic has to be chosen before the first computation.

    history_child.py MODEL KV HISTORIES

Looks for a history of requests after which a strict engine's next answer, or the logits behind its prompt, are not byte
for byte those of an engine that computes everything afresh. Prints the histories tried, or the shortest one that fails.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laguna_engine.config import PLAIN, KvType, Speculation
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.events import Prefill, Token
from laguna_engine.llama.context import Outputs
from laguna_engine.llama.sampler import LOGITS
from tests.engine.runs import gather

CONTEXT, ANSWER = 1024, 12
UBATCHES = (512, 40, 9)
"""Prompts are split differently by each; strict mode takes less than the first."""


@dataclass(frozen=True)
class Ask:
    """A prompt that keeps `keep` of 100 parts of the transcript, then has `more` new tokens; and how it is answered."""

    keep: int
    more: int
    seed: int
    drafting: Drafting
    count: int = ANSWER

    def prompt(self, transcript: Sequence[int]) -> list[int]:
        kept = list(transcript[: len(transcript) * self.keep // 100])
        return [*kept, *(30 + (self.seed + 13 * index) % 450 for index in range(self.more))][:600]


@dataclass(frozen=True)
class Ahead(Ask):
    """The prompt is read, and nothing is picked."""


@dataclass(frozen=True)
class Cancelled(Ask):
    """Given up while the prompt is read, after `count` parts of it."""


@dataclass(frozen=True)
class Proved(Ask):
    """Answered, and then answered once more without drafts."""


DRAFTINGS = st.sampled_from([PLAIN, Drafting(length=1), Drafting(length=3), Drafting(length=16)])


def asks(kind: type[Ask]) -> st.SearchStrategy[Ask]:
    keep, more = st.sampled_from([0, 30, 50, 85, 99, 100]), st.sampled_from([1, 2, 7, 62, 63, 64, 65, 130, 300])
    return st.builds(kind, keep, more, st.integers(0, 3), DRAFTINGS, st.integers(1, ANSWER))


HISTORIES = st.lists(st.one_of(*map(asks, (Ask, Ahead, Cancelled, Proved))), max_size=5)


def run(engine: Engine, step: Ask, prompt: list[int]) -> list[int]:
    """Do what the step says; the transcript after it."""
    request = Request(prompt, max_tokens=step.count, drafting=step.drafting)
    if isinstance(step, Ahead):
        gather(engine.generate(Request(prompt, max_tokens=0, drafting=step.drafting)))
        return prompt
    if isinstance(step, Cancelled):
        with engine.generate(request) as events:
            read = 0
            for event in events:
                read += isinstance(event, Prefill)
                if read > step.count or isinstance(event, Token):
                    break
        return prompt
    tokens = gather(engine.generate(request)).tokens
    if isinstance(step, Proved):
        assert engine.replay(prompt, tokens).identical, "the proof found a difference"
    return [*prompt, *tokens]


def logits(engine: Engine, prompt: list[int]) -> bytes:
    """Behind a prompt, computed onto whatever is cached."""
    target = engine._sequence

    def computed() -> np.ndarray:
        target.context.read_out(LOGITS)
        target.rewind(prompt)
        while target.position < len(prompt):
            target.decode(target.context.n_ubatch, Outputs.LAST)
        return target.context.logits(target._last_row)

    return engine._thread.call(computed).tobytes()


def check(engines: Sequence[Engine], history: Sequence[Ask], last: Ask) -> None:
    fresh = engines[0]
    for engine in engines:
        engine.clear()
        transcript: list[int] = list(range(40, 140))
        for step in history:
            transcript = run(engine, step, step.prompt(transcript))
        prompt = last.prompt(transcript)
        answer = gather(engine.generate(Request(prompt, max_tokens=ANSWER, drafting=last.drafting))).tokens
        found = logits(engine, prompt)
        fresh.clear()
        expected = gather(fresh.generate(Request(prompt, max_tokens=ANSWER, drafting=PLAIN))).tokens
        assert answer == expected, f"{answer} is not {expected}"
        fresh.clear()
        assert found == logits(fresh, prompt), "the logits differ"


def main() -> None:
    model, kv = Path(sys.argv[1]), KvType(sys.argv[2])
    examples = 400 if os.environ.get("LAGUNA_TUI_FUZZ") else int(sys.argv[3])
    tried = 0
    with ExitStack() as stack:
        engines = [
            stack.enter_context(
                Engine.open(
                    EngineOptions(
                        model, CONTEXT, n_ubatch=ubatch, kv_type=kv, threads=1, speculation=Speculation.STRICT
                    )
                )
            )
            for ubatch in UBATCHES
        ]

        @settings(max_examples=examples, deadline=None, database=None, derandomize=True,
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(HISTORIES, asks(Ask))
        def any_history(history: list[Ask], last: Ask) -> None:
            nonlocal tried
            tried += 1
            check(engines, history, last)

        any_history()
    print(tried)


main()
