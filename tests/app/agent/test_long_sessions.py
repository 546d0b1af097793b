"""Sessions of hundreds of turns never stop, whatever the context: room is made, and what matters stays."""

from contextlib import closing

import pytest

from laguna_tui.base.events import Compacted, StepFinished, TurnEnd, TurnFinished
from tests.app.agent.scripted_engine import text
from tests.scripted_model import Script, call, say, scripted_session

FACT = "The deploy key is called heron-42."
SUMMARY = "The context is nearly full"


def summarise(seen):
    """A model's summary: what it knows of the fact, as far as it is in the prompt."""
    known = FACT if FACT in seen.text else ""
    return say(f"Working on the shop. {known}")


@pytest.fixture
def shop(tmp_path):
    root = tmp_path / "shop"
    root.mkdir()
    for number in range(20):
        body = "\n".join(f"def part_{number}_{line}(value):\n    return value * {line}\n" for line in range(12))
        (root / f"part_{number}.py").write_text(body)
    return root


# Tokens computed again for a turn on average: by compactions, and by all the other steps together.
AGAIN_COMPACTED, AGAIN_OTHERWISE = 512, 4


def computed_again(events, known):
    """Tokens that a turn's steps computed although they were in the prompt before, and how many are known after it.

    What stands behind a compaction is not counted: the compaction reports it.
    """
    again = 0
    for event in events:
        if isinstance(event, Compacted):
            known = 0
        elif isinstance(event, StepFinished):
            again += max(0, known - event.stats.cached_tokens)
            known = event.stats.prompt_tokens + event.stats.generated_tokens
    return again, known


LONG = (pytest.mark.long, pytest.mark.timeout(7200))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("context", "turns"), [(8192, 80), *(pytest.param(each, 500, marks=LONG) for each in (8192, 65_536))]
)
def test_hundreds_of_turns_never_stop_and_a_fact_of_the_third_is_still_known(shop, context, turns, tmp_path):
    def lines(seen):
        number = 0
        while True:
            number += 1
            yield call("read", path=f"part_{number % 20}.py")
            yield say(f"Part {number} has functions that multiply. " * 3)

    script = Script(lines, asides={SUMMARY: summarise})
    session = scripted_session(shop, script, context=context, state=tmp_path / "state")
    with closing(session):
        info = session.open(lambda progress: None)
        assert info.context_size == context
        compactions, otherwise, known = [], 0, 0
        for turn in range(1, turns + 1):
            question = FACT if turn == 3 else f"What does part {turn} do?"
            events = list(session.chat.ask(question))
            compactions += [event for event in events if isinstance(event, Compacted)]
            again, known = computed_again(events, known)
            otherwise += again
            assert events[-1] == TurnFinished(TurnEnd.ANSWERED), f"turn {turn}"
            if turn == turns * 3 // 5:
                assert FACT in text(session.parts.agent.conversation)
        assert compactions
        assert all(each.after <= 0.7 * each.before for each in compactions)
        assert all(each.recomputed <= context for each in compactions)
        recomputed = sum(each.recomputed for each in compactions)
        print(f"{context} tokens: {len(compactions)} compactions, {recomputed / turns:.0f} + {otherwise / turns:.1f}")
        assert recomputed <= AGAIN_COMPACTED * turns
        assert otherwise <= AGAIN_OTHERWISE * turns
