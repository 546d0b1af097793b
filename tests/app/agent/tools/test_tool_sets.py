"""Who is told of which tools: the bundled model of exactly those that it was trained on, the others of more."""

from pathlib import Path

import pytest

from laguna_engine.chat.encoding import SafeEncoder
from laguna_engine.chat.template import Family, Renderer
from laguna_engine.llama.model import Model
from laguna_tui.agent.prompt import system_prompt
from laguna_tui.agent.tools.registry import Toolbox, tool_specs
from laguna_tui.context.codebase import Codebase
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.entry import ModelKind, ToolSet
from laguna_tui.repo.workspace import Workspace

GOLDEN = Path(__file__).with_name("nano_system.txt")


@pytest.fixture(scope="module")
def nano():
    """The bundled model's vocabulary."""
    model = Model.open(load_catalogue()["nano"].path, vocab_only=True)
    yield model.vocab
    model.close()


def test_the_bundled_model_sees_the_very_bytes_it_was_trained_on(nano):
    entry = load_catalogue()["nano"]
    renderer = Renderer(SafeEncoder(nano), Family[entry.template], thinking=entry.thinking)
    ids = renderer.system(system_prompt(), tool_specs(entry.tools))
    assert b"".join(map(nano.piece, ids)) == GOLDEN.read_bytes()


def test_every_other_model_has_the_full_set():
    targets = [entry for entry in load_catalogue().values() if entry.kind is ModelKind.TARGET]
    assert {entry.name: entry.tools for entry in targets if entry.tools is ToolSet.BASIC} == {"nano": ToolSet.BASIC}
    assert len(targets) > 1


def test_both_sets_find_search_and_edit_and_the_full_one_reads():
    basic, full = tool_specs("basic"), tool_specs("full")
    assert [spec.name for spec in basic] == ["find", "search", "edit"]
    assert [spec.name for spec in full] == ["find", "search", "read", "edit"]
    assert basic[2] == full[3]


def test_the_full_set_searches_in_more_ways():
    basic, full = tool_specs("basic"), tool_specs("full")
    assert list(basic[1].parameters["properties"]) == ["list", "pattern"]
    assert full[1].parameters["properties"]["mode"]["enum"] == ["regex", "symbol", "ranked"]


def test_a_set_does_what_it_says(tmp_path):
    (tmp_path / "a.py").write_text("def f():\n    pass\n")
    workspace, codebase = Workspace(tmp_path), Codebase(tmp_path, tmp_path / "cache")
    boxes = [Toolbox(workspace, codebase=codebase, tools=tools) for tools in ("basic", "full")]
    found = [box.run("find", {"pattern": "a.py"}).output for box in boxes]
    assert found == ["`a.py` defines:\n1. `f:1`", "a.py\nf a.py:1: def f():"]


def test_the_small_model_is_told_of_edits_by_the_tool_alone():
    assert "edit" in system_prompt(ToolSet.FULL)
    assert "edit" not in system_prompt(ToolSet.BASIC)


def test_an_unknown_set_is_refused():
    with pytest.raises(ValueError, match="all"):
        tool_specs("all")


def test_a_toolbox_says_what_it_can_do(tmp_path):
    codebase = Codebase(tmp_path, tmp_path / "cache")
    workspace = Workspace(tmp_path)
    assert Toolbox(workspace).specs == tool_specs("basic")
    assert Toolbox(workspace, codebase=codebase, tools="basic").specs == tool_specs("basic")
    assert Toolbox(workspace, codebase=codebase, tools="full").specs == tool_specs("full")
