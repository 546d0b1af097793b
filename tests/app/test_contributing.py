"""CONTRIBUTING.md holds: the tool and the model that it adds do what it says, and every file that it names is there."""

import re
import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest

from laguna_tui.agent.loop import Agent
from laguna_tui.agent.profile import PROFILES
from laguna_tui.agent.tools.base.results import ResultStore
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.events import ToolFinished, TurnEnd, TurnFinished
from laguna_tui.context.codebase import Codebase
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.repo.files.workspace import Workspace
from tests.app.agent.scripted_engine import answer, backend, call
from tests.app.approvers import run_tool

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def section(title):
    """The text below a heading."""
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def examples(title, language):
    """The code blocks of a section."""
    return re.findall(rf"```{language}\n(.*?)```", section(title), re.DOTALL)


@pytest.fixture
def tools(codebase, monkeypatch):
    """The full set, with the tool of the text."""
    source, listed = examples("Adding a tool", "python")
    count = types.ModuleType("count")
    monkeypatch.setitem(sys.modules, "count", count)
    exec(compile(source, "CONTRIBUTING.md", "exec"), count.__dict__)
    tool = eval(listed, {"count": count})
    profile = replace(FULL, tools=(*FULL.tools, tool))
    return Toolbox(profile, Workspace(codebase.root), ResultStore(codebase.root.parent / "results"), codebase=codebase)


@pytest.fixture
def codebase(tmp_path):
    root = tmp_path / "shop"
    root.mkdir()
    (root / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    opened = Codebase(root, tmp_path / "index")
    yield opened
    opened.close()


def test_the_tool_is_told_to_the_model_called_by_it_and_its_answer_read(tiny_model, tools):
    script = call("count", path="cart.py"), answer("It has 2 lines.")
    scripted = backend(tiny_model.vocab, script)
    events = list(Agent(scripted, tools, opening=str).run("How long is cart.py?"))
    assert events[-1] == TurnFinished(TurnEnd.ANSWERED)
    first, second = (scripted.text(each.tokens) for each in scripted.engine.requests)
    assert "Count the lines of a file." in first
    assert "<tool_response>\ncart.py has 2 lines\n</tool_response>" in second
    (finished,) = (event for event in events if isinstance(event, ToolFinished))
    assert (finished.name, finished.ok) == ("count", True)


@pytest.mark.parametrize("arguments", [{}, {"path": "../secret"}, {"path": "nowhere.py"}])
def test_what_is_wrong_with_its_call_is_a_sentence_for_the_model(tools, arguments):
    assert run_tool(tools, "count", arguments).output.startswith("error: ")


def test_the_model_can_be_chosen_and_has_its_profile(tmp_path):
    (entry,) = examples("Adding a model", "toml")
    (tmp_path / "models.toml").write_text(entry)
    added = load_catalogue(own=tmp_path / "models.toml")["my-laguna"]
    assert PROFILES[added.tools] is FULL


def test_every_file_that_it_names_is_there():
    named = re.findall(r"`((?:laguna_tui|engine|tests)/[\w./]*)`", TEXT)
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_trip_of_a_message_is_a_page():
    assert len(section("The trip of a message").splitlines()) <= 60
