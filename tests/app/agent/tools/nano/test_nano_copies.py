"""What holds the bundled model while it writes: names of the question, quotations of its tools' results."""

from contextlib import closing

import numpy as np
import pytest

from laguna_engine.chat.messages import ToolCall
from laguna_engine.chat.template import Family
from laguna_engine.constrain.base import Constraints
from laguna_engine.llama.model import Model
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.nano.guard import NanoGuard
from laguna_tui.agent.tools.nano.profile import NANO
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.backends.base import Options, Prompt
from laguna_tui.backends.local.laguna_format import LagunaFormat
from laguna_tui.base.events import StepFinished, ToolFinished
from laguna_tui.base.settings import Settings
from laguna_tui.session.session import Session

RENAME = "rename fill_order to fill_basket in shop/cart.py"
SEARCHED = ToolCall("search", {"list": "defined", "pattern": "total"})
EDIT = (
    "<tool_call>edit\n<arg_key>path</arg_key>\n<arg_value>shop/cart.py</arg_value>\n<arg_key>{}</arg_key>\n<arg_value>"
)


def could_write(model: Model, guard: NanoGuard, text: str) -> bool:
    """Whether all of a text is allowed of the next generation, token by token."""
    options = Options(rules=guard.rules, quotable=guard.quotable)
    held = LagunaFormat(model.vocab, Family.XS_2_1, "").constraints(Prompt("", NANO.specs), options)
    constraints = Constraints([each.begin(model.vocab, []) for each in held])
    for token in model.vocab.tokenize(text, special=True):
        allowed = constraints.mask().allowed
        if allowed is not None and not allowed.passing(np.array([token], np.int32))[0]:
            return False
        constraints.advance(token)
    assert not constraints.failures()
    return True


@pytest.mark.parametrize("key", ["old", "new"])
def test_the_names_of_a_rename_are_those_of_the_question(tiny_model, key):
    guard, begun = NanoGuard(RENAME, lambda: "where is price defined?"), EDIT.format(key)
    assert could_write(tiny_model, guard, f"{begun}fill_order</arg_value>")
    assert could_write(tiny_model, guard, f"{begun}fill_basket</arg_value>")
    assert not could_write(tiny_model, guard, f"{begun}fill_older</arg_value>")
    assert not could_write(tiny_model, guard, f"{begun}fill</arg_value>")
    assert not could_write(tiny_model, guard, f"{begun}price</arg_value>")


def test_it_is_a_name_that_was_said_before(tiny_model):
    guard = NanoGuard("Rename it to cost in shop/cart.py", lambda: "where is price defined?")
    assert could_write(tiny_model, guard, f"{EDIT.format('old')}price</arg_value>")
    assert not could_write(tiny_model, guard, f"{EDIT.format('old')}prize</arg_value>")


def test_the_texts_of_a_docstring_are_free(tiny_model):
    guard = NanoGuard("add a docstring to total", str)
    assert could_write(tiny_model, guard, f"{EDIT.format('old')}def total(items):</arg_value>")


def test_a_name_is_held_however_unlikely_it_is():
    (rules,) = NanoGuard(RENAME, str).rules
    choices = rules.rule("edit", "old", {})
    assert choices is not None
    assert choices.least == 0
    assert rules.rule("search", "pattern", {}) is None


def test_quotations_are_those_of_all_results_of_the_turn(tiny_model):
    guard = NanoGuard("where is total defined?", str)
    assert could_write(tiny_model, guard, "`anything`")
    guard.take(SEARCHED, ToolResult("Defined here:\n1. `total cart.py:1` `def total(items):`"))
    guard.take(SEARCHED, ToolResult("Used here:\n1. `main app.py:7`"))
    assert could_write(tiny_model, guard, "1. `total cart.py:1` `def total(items):`\n2. `main app.py:7`")
    assert not could_write(tiny_model, guard, "1. `total cart.py:2")
    assert not could_write(tiny_model, guard, "1. `main cart.py:1")


@pytest.mark.parametrize("constrain", ["auto", "off"])
def test_a_question_to_the_bundled_model_is_held_unless_that_is_switched_off(tmp_path, constrain, monkeypatch):
    # Where there is no index, as in a folder that is too large for one, the model looks it up.
    monkeypatch.setattr(Toolbox, "route", lambda *arguments: None)
    (tmp_path / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    session = Session(Settings(model="nano", threads=1, speculation="off", constrain=constrain), tmp_path)
    with closing(session):
        session.open(lambda progress: None)
        found = list(session.chat.ask("where is total defined?"))
    assert [event.name for event in found if isinstance(event, ToolFinished)] == ["search"]
    steps = [event.stats for event in found if isinstance(event, StepFinished)]
    assert len(steps) == 2
    assert all((stats.constrained > 8) == (constrain == "auto") for stats in steps)
