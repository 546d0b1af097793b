"""Every event as a line of JSON, whatever is in it."""

import io
import json
import typing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import AgentEvent, Rate, TodoChanged, TodoItem, TodoState, ToolStarted
from laguna_tui.headless.json_output import event_object, stream_writer
from tests.app.headless.test_headless import edit_events

EVENTS = typing.get_args(AgentEvent)
CHANGE = edit_events(asks=False)[1].change
st.register_type_strategy(ChangeProposal, st.just(CHANGE))
st.register_type_strategy(Path, st.just(Path("/shop")))
st.register_type_strategy(object, st.text() | st.floats() | st.lists(st.integers()) | st.none())


def line_of(event):
    out = io.StringIO()
    stream_writer(out)(event)
    return out.getvalue()


@pytest.mark.parametrize("kind", EVENTS, ids=[kind.__name__ for kind in EVENTS])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_event_is_a_line_that_any_program_can_read(kind, data):
    event = data.draw(st.from_type(kind))
    line = line_of(event)
    assert line.isascii()
    assert (line.count("\n"), line[-1]) == (1, "\n")
    told = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert told["type"] == event_object(event)["type"]


def test_the_types_differ():
    names = {kind.__name__ for kind in EVENTS}
    assert len({name.lower() for name in names}) == len(EVENTS)


def test_a_number_that_json_does_not_have_is_null():
    assert json.loads(line_of(Rate(1, float("inf"), 2)))["tokens_per_second"] is None
    assert json.loads(line_of(ToolStarted(1, "x", {"a": [float("nan")]})))["arguments"] == {"a": [None]}


def test_text_with_lone_surrogates_is_written():
    told = json.loads(line_of(ToolStarted(1, "x", {"a": "\udcff\x00"})))
    assert told["arguments"]["a"] == "\udcff\x00"


def test_the_models_steps_have_states_that_say_what_they_are():
    told = json.loads(line_of(TodoChanged((TodoItem("look", TodoState.DONE), TodoItem("write")))))
    assert told["items"] == [{"text": "look", "state": "done"}, {"text": "write", "state": "open"}]
