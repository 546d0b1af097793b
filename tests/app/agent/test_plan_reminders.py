"""Plan mode as the model hears of it: with the user's message, at the next tool boundary, and once when it is over."""

from itertools import pairwise

import pytest

from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.permissions.modes import PLAN_OFF, PLAN_ON
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.nano.profile import NANO
from laguna_tui.base.events import StepFinished, TextDelta, ToolStarted
from laguna_tui.base.permission_request import Mode
from tests.app.agent.scripted_engine import backend, text, tokens
from tests.scripted_model import call, scripted_session

TAGGED_ON = f"<system-reminder>\n{PLAN_ON}\n</system-reminder>"
TAGGED_OFF = f"<system-reminder>\n{PLAN_OFF}\n</system-reminder>"
READ = call("read", path="add.py")


@pytest.fixture
def opened(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/add.py").write_text("def add(a, b):\n    return a - b\n")
    sessions = []

    def begin(*script, mode="plan", **settings):
        settings = {"pack": 0, "thinking": False, "context": 8192, **settings}
        session = scripted_session(tmp_path / "shop", list(script), mode=mode, state=tmp_path / "state", **settings)
        sessions.append(session)
        session.open(lambda progress: None)
        return session

    yield begin
    for session in sessions:
        session.close()


def ask(session, message):
    return list(session.chat.ask(message))


def ask_changing(session, message, mode, kind=ToolStarted):
    """The events of a question during which the mode is changed, at the first event of a kind."""
    events = []
    for event in session.chat.ask(message):
        if isinstance(event, kind) and not any(isinstance(each, kind) for each in events):
            session.permissions.mode = mode
        events.append(event)
    return events


def prompt(session):
    return text(session.parts.agent.conversation)


def messages(session):
    """What stands in the user's place, message by message."""
    return [piece.partition("\n</user>")[0] for piece in prompt(session).split("<user>\n")[1:]]


def test_each_message_of_plan_mode_carries_the_reminder_behind_the_users_words(opened):
    session = opened("1. Turn the sign.", "2. Test it.")
    ask(session, "fix add")
    ask(session, "and then?")
    first, second = messages(session)
    assert first.endswith(f"fix add\n\n{TAGGED_ON}")
    assert second == f"and then?\n\n{TAGGED_ON}"


def test_no_other_mode_is_mentioned(opened):
    session = opened("Hello.", "Hello.", "Hello.", mode="ask")
    for mode in (Mode.ASK, Mode.ACCEPT_EDITS, Mode.AUTO):
        session.permissions.mode = mode
        ask(session, "hi")
    assert "system-reminder" not in prompt(session)


def test_the_first_message_after_plan_mode_says_so_and_the_next_one_does_not(opened):
    session = opened("A plan.", "Done.", "Bye.")
    ask(session, "fix add")
    session.permissions.mode = Mode.ACCEPT_EDITS
    ask(session, "carry it out")
    ask(session, "thanks")
    assert messages(session)[1:] == [f"carry it out\n\n{TAGGED_OFF}", "thanks"]


def test_a_change_to_plan_mode_is_told_at_the_next_tool_boundary(opened):
    session = opened(READ, READ, "A plan.", mode="ask")
    ask_changing(session, "fix add", Mode.PLAN)
    read = prompt(session)
    assert messages(session)[1:] == [TAGGED_ON]
    first, second = (at for at in range(len(read)) if read.startswith("</tool_response>", at))
    assert first < read.index(TAGGED_ON) < second


def test_a_change_from_plan_mode_is_told_at_the_next_tool_boundary(opened):
    session = opened(READ, READ, "Done.")
    ask_changing(session, "fix add", Mode.AUTO)
    assert messages(session)[1:] == [TAGGED_OFF]


def test_a_change_to_and_fro_between_two_boundaries_is_not_mentioned(opened):
    session = opened(READ, "A plan.")
    for event in session.chat.ask("fix add"):
        if isinstance(event, ToolStarted):
            session.permissions.mode = Mode.AUTO
            session.permissions.mode = Mode.PLAN
    assert len(messages(session)) == 1


def test_a_change_while_it_answers_is_told_with_the_next_message(opened):
    session = opened("A long answer.", "A plan.", mode="ask")
    ask_changing(session, "fix add", Mode.PLAN, TextDelta)
    assert "system-reminder" not in prompt(session)
    ask(session, "go on")
    assert messages(session)[1] == f"go on\n\n{TAGGED_ON}"


def test_a_message_that_steers_carries_the_change_alone(opened):
    session = opened(READ, "A plan.", mode="ask")
    for event in session.chat.ask("fix add"):
        if isinstance(event, ToolStarted):
            session.permissions.mode = Mode.PLAN
            assert session.chat.steer("plan it first")
    assert messages(session)[1:] == [f"plan it first\n\n{TAGGED_ON}"]


def test_the_cache_is_kept_and_the_system_prompt_stays(opened):
    session = opened(READ, READ, "Done.", "Bye.")
    conversation = session.parts.agent.conversation
    system = tokens(conversation)
    events = [*ask_changing(session, "fix add", Mode.AUTO), *ask(session, "thanks")]
    assert tokens(conversation)[: len(system)] == system
    steps = [event.stats for event in events if isinstance(event, StepFinished)]
    assert len(steps) == 4
    assert all(later.cached_tokens >= before.prompt_tokens for before, later in pairwise(steps))


def test_after_an_undo_to_before_plan_mode_was_left_its_end_is_told_again(opened):
    session = opened("A plan.", "Done.", "Done again.")
    ask(session, "fix add")
    session.permissions.mode = Mode.AUTO
    ask(session, "carry it out")
    session.history.apply(session.history.plan_undo())
    ask(session, "carry it out slowly")
    assert messages(session)[1:] == [f"carry it out slowly\n\n{TAGGED_OFF}"]


def test_after_a_rewind_to_before_plan_mode_its_end_is_not_mentioned_and_its_beginning_is(opened):
    session = opened("A plan.", "Hello.", "A plan.")
    ask(session, "fix add")
    session.permissions.mode = Mode.ASK
    session.history.apply(session.history.plan_rewind(1))
    ask(session, "hi")
    session.permissions.mode = Mode.PLAN
    ask(session, "plan it")
    first, second = messages(session)
    assert first.endswith("hi")
    assert second == f"plan it\n\n{TAGGED_ON}"


def test_a_new_chat_knows_nothing_of_the_plan_mode_before(opened):
    session = opened("A plan.", "Hello.")
    ask(session, "fix add")
    session.chat.new_chat()
    session.permissions.mode = Mode.ASK
    ask(session, "hi")
    assert "system-reminder" not in prompt(session)


def test_what_it_costs_is_counted_before_it_is_sent(opened):
    session = opened("A plan.", "Another.")
    ask(session, "fix add")
    cost = session.prompt.cost("and then?")
    before = session.parts.agent.conversation.size
    (stats,) = (event.stats for event in ask(session, "and then?") if isinstance(event, StepFinished))
    assert cost.new + cost.cached == stats.prompt_tokens > before


def test_a_model_that_was_never_trained_on_reminders_reads_none_of_plan_mode(tiny_model):
    plain, planning = (
        Conversation(backend(tiny_model.vocab), NANO, thinking=False, remind=lambda last, said=said: said)
        for said in ("", PLAN_ON)
    )
    for conversation in (plain, planning):
        conversation.add_message(conversation.message("Where is add?"))
        conversation.remind()
    assert tokens(plain) == tokens(planning)


def test_a_model_that_is_changed_to_one_reads_none_and_the_model_after_it_reads_them_again(tiny_model):
    full = Conversation(backend(tiny_model.vocab), FULL, thinking=False, remind=lambda last: PLAN_ON)
    full.add_message(full.message("Where is add?"))
    nano = full.for_model(full.backend, NANO, thinking=False)
    assert "system-reminder" not in text(nano)
    again = nano.for_model(full.backend, FULL, thinking=False)
    assert tokens(again) == tokens(full)
