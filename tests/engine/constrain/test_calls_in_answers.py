"""Random weights write calls that can run, with the constraint's own drafts and without."""

import pytest

from laguna_engine.chat.call_constraint import Choices, ToolCalls
from laguna_engine.chat.encoding import SafeEncoder
from laguna_engine.chat.messages import CallFinished
from laguna_engine.chat.parser import StreamParser
from laguna_engine.config import GREEDY, PLAIN, Drafting, Request, Sampling
from laguna_engine.constrain.base import Continued
from laguna_engine.engine import Engine
from laguna_engine.events import CONSTRAINED, Round, Token
from tests.engine.chat.test_call_constraint import PATHS, READ, Rules
from tests.engine.runs import Run, gather
from tests.engine.tiny import END_TOOL_CALL, TOOL_CALL

PROMPT = [*(40 + (11 * index) % 400 for index in range(40)), TOOL_CALL]
SAMPLINGS = {
    "greedy": GREEDY,
    "the most likely 20": Sampling(temperature=1.0, top_k=20, seed=3),
    "all tokens": Sampling(temperature=1.0, seed=4),
}


class Certain(Rules):
    """The paths, held to whatever the random model means."""

    def rule(self, tool, key, given):
        return Choices.of(PATHS, least=0.0) if key == "path" else None


def run(engine: Engine, sampling: Sampling, drafting: Drafting = PLAIN) -> Run:
    constraint = Continued(ToolCalls((READ,), Certain()), 1)
    ends = frozenset({END_TOOL_CALL})
    request = Request(PROMPT, sampling, max_tokens=120, drafting=drafting, stop_tokens=ends, constraints=(constraint,))
    return gather(engine.generate(request))


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS.keys())
def test_random_weights_call_a_tool_with_a_path_that_is_there(engine, sampling):
    tokens = [TOOL_CALL, *run(engine, sampling).tokens]
    parser = StreamParser([READ], markers=SafeEncoder(engine.vocab).markers)
    events = [event for token in tokens for event in parser.feed(token, engine.vocab.piece(token))]
    (finished,) = [event for event in events if isinstance(event, CallFinished)]
    assert finished.call.name == "read"
    assert finished.call.arguments["path"] in PATHS


def test_the_constraint_drafts_inside_the_call_and_is_named(engine):
    result = run(engine, GREEDY, Drafting(length=8, sources=frozenset({CONSTRAINED})))
    rounds = [event for event in result.events if isinstance(event, Round) and event.drafter == CONSTRAINED]
    assert rounds
    assert any(event.source == CONSTRAINED for event in result.events if isinstance(event, Token))
    assert all(event.constrained for event in result.events if isinstance(event, Token))


def test_a_request_without_constraints_has_no_drafts_of_them(engine):
    result = gather(engine.generate(Request(PROMPT, max_tokens=20, drafting=Drafting(length=8))))
    assert all(event.drafter != CONSTRAINED for event in result.events if isinstance(event, Round))
