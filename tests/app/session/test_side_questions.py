"""A side question is answered with the conversation, which has nothing of it afterwards, nor has its KV cache."""

from pathlib import Path

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.base.events import StepFinished, TextDelta
from tests.app.session.place import Place, ask, tokens
from tests.scripted_model import Script, call, say

LONG = " ".join(f"line {number} of it," for number in range(300))
ASIDE = {"This is a side question": f"By the way: {LONG}"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, **{"long.txt": LONG})


def script():
    return Script([say(call("read", path="long.txt")), "I have read it.", "Yes.", "Still yes."], asides=ASIDE)


def reused(events) -> list[int]:
    """The cached tokens of each generation."""
    return [event.stats.cached_tokens for event in events if isinstance(event, StepFinished)]


def side(session, question="what is 1 + 1?") -> str:
    return "".join(each.text for each in session.chat.side_answer(question) if isinstance(each, TextDelta))


@pytest.mark.parametrize("speculation", ["off", "fast"])
def test_the_next_turn_reuses_as_much_as_without_it(place, speculation):
    counts, prompts = [], []
    for asks_aside in (False, True):
        place.reset()
        with place.session(place.model(script()), speculation=speculation) as session:
            ask(session, "read long.txt")
            if asks_aside:
                assert side(session) == ASIDE["This is a side question"]
                assert side(session, "and again?") == ASIDE["This is a side question"]
            counts.append(reused(ask(session, "is it long?")))
            prompts.append(tokens(session))
    assert counts[0] == counts[1]
    assert counts[0][0] > 1000
    assert prompts[0] == prompts[1]


def test_a_resumed_session_restores_as_much_as_without_it(place, tmp_path):
    restored, counts = [], []
    for asks_aside in (False, True):
        place.reset()
        cache = tmp_path / f"cache-{asks_aside}"
        with place.session(place.model(script()), cache=cache) as session:
            ask(session, "read long.txt")
            if asks_aside:
                side(session)
        with place.session(place.model(script()), place.saved[0], cache=cache) as session:
            restored.append(session.info_at_start.resumed.restored)
            assert not any("1 + 1" in str(event) for event in session.info_at_start.resumed.events)
            counts.append(reused(ask(session, "is it long?"))[0])
    assert restored[0] == restored[1] > 1000
    assert counts[0] == counts[1]


def test_it_is_stopped_like_an_answer_and_leaves_nothing_either(place):
    with place.session(place.model(script())) as session:
        ask(session, "read long.txt")
        before, cost = tokens(session), session.prompt.cost("is it long?")
        texts = []
        for event in session.chat.side_answer("what is 1 + 1?"):
            if isinstance(event, TextDelta):
                texts.append(event.text)
                session.chat.cancel()
        assert len("".join(texts)) < len(ASIDE["This is a side question"])
        assert (tokens(session), session.prompt.cost("is it long?").cached) == (before, cost.cached)


def test_a_model_that_only_calls_a_tool_is_reported(place):
    asides = {"This is a side question": say(call("read", path="a.txt"))}
    with place.session(place.model(Script(["Hello."], asides=asides))) as session, pytest.raises(UserError) as error:
        side(session)
    assert (
        str(error.value) == "The model wanted to call a tool, which it cannot in a side question. Send it as a message."
    )
