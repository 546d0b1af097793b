"""A session holds a model's tool calls to what is there, and lets go where the model means something else."""

from contextlib import closing

import pytest

from laguna_tui.base.events import CallRejected, ChangeMade, StepFinished, ToolFinished, ToolStarted
from tests.scripted_model import call, raw, say, scripted_session

TEXT = "def total(prices):\n    return sum(prices)\n\n\ndef count(prices):\n    return len(prices)\n"


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/cart.py").write_text(TEXT)
    (tmp_path / "shop/.env").write_text("KEY=secret-words-of-mine\n")
    return tmp_path / "shop"


def events(shop, *turns, constrain="auto", **settings):
    """What comes of a question when the model says this."""
    session = scripted_session(shop, [*turns, say("Done.")], constrain=constrain, mode="accept-edits", **settings)
    with closing(session):
        session.open(lambda progress: None)
        codebase = session.opened().context.codebase
        codebase.start()
        assert codebase.paths(60.0)
        return list(session.chat.ask("Correct the cart."))


def of(kind, found):
    return [event for event in found if isinstance(event, kind)]


@pytest.mark.parametrize(("constrain", "prepared"), [("auto", True), ("off", False)])
def test_the_vocabulary_is_prepared_while_nothing_is_asked(shop, constrain, prepared):
    session = scripted_session(shop, [say("Done.")], constrain=constrain)
    with closing(session):
        session.open(lambda progress: None)
        engine = session.slot.engine
        engine.clear()
        assert ("pieces" in vars(engine.vocab)) is prepared


WRONG_NAME = say(raw("<tool_call>reed\n<arg_key>path</arg_key>\n<arg_value>cart.py</arg_value>\n</tool_call>"))


def test_a_tool_that_there_is_not_cannot_be_called(shop):
    """What follows the name is arbitrary: the call may not be finished, and the text may hold anything."""
    found = events(shop, WRONG_NAME)
    raws = [event.raw.removeprefix("<tool_call>").splitlines()[0] for event in of(CallRejected, found)]
    names = [event.name for event in of(ToolStarted, found)] + raws
    assert "reed" not in names
    assert of(StepFinished, found)[0].stats.constrained


def test_without_constraints_it_is_rejected_as_before(shop):
    assert of(CallRejected, events(shop, WRONG_NAME, constrain="off"))


def test_an_edit_of_existing_text_is_constrained_and_applied(shop):
    edit = call("edit", path="cart.py", old="sum(prices)", new="0")
    found = events(shop, say(call("read", path="cart.py")), say(edit))
    assert len(of(ChangeMade, found)) == 1
    steps = of(StepFinished, found)
    assert [step.stats.dropped for step in steps] == [0, 0, 0]
    assert all(step.stats.constrained > 8 for step in steps[:2])
    assert steps[2].stats.constrained == 0


@pytest.mark.parametrize(
    "wrong",
    [
        call("read", path="basket.py"),
        call("edit", path="cart.py", old="return max(prices)", new="0"),
        call("edit", path="cart.py", old="(prices)", new="0"),
    ],
    ids=["no such file", "no such text", "there four times"],
)
def test_what_the_model_insists_on_is_released_and_answered_with_the_error(shop, wrong):
    found = events(shop, say(wrong))
    assert of(StepFinished, found)[0].stats.dropped >= 1
    (finished,) = of(ToolFinished, found)
    assert not finished.ok
    assert (shop / "cart.py").read_text() == TEXT


def test_a_new_file_is_free(shop):
    found = events(shop, say(call("write", path="new/shelf.py", content="shelf = 1\n")))
    assert of(StepFinished, found)[0].stats.dropped == 0


def test_a_file_that_may_not_be_shown_is_not_mentioned(shop):
    session = scripted_session(shop, [])
    with closing(session):
        session.open(lambda progress: None)
        rules = session.opened().toolbox.call_rules
        assert rules.rule("edit", "old", {"path": ".env"}) is None
        assert rules.rule("edit", "old", {"path": "../shop/.env"}) is None
        assert rules.rule("edit", "old", {"path": "cart.py"}) is not None
        assert rules.rule("edit", "old", {}) is None


def test_the_text_is_that_of_the_file_now(shop):
    session = scripted_session(shop, [])
    with closing(session):
        session.open(lambda progress: None)
        rules = session.opened().toolbox.call_rules
        before = rules.rule("edit", "old", {"path": "cart.py"})
        assert before.document == (shop / "cart.py").read_text()
        (shop / "cart.py").write_text("other = 1\n")
        assert rules.rule("edit", "old", {"path": "cart.py"}).document == "other = 1\n"
