"""Who is told of which tools: the bundled model of exactly those that it was trained on, the others of more."""

from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine.chat.encoding import SafeEncoder
from laguna_engine.chat.template import Family, Renderer
from laguna_engine.llama.model import Model
from laguna_tui.agent.profile import PROFILES, profile_of
from laguna_tui.agent.tools.chat_profile import CHAT
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.nano.profile import NANO
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.context.codebase import Codebase
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.entry import ModelKind, ToolSet
from laguna_tui.repo.files.workspace import Workspace
from tests.app.approvers import run_tool

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
    ids = renderer.system(PROFILES[entry.tools].system_prompt, PROFILES[entry.tools].specs)
    assert b"".join(map(nano.piece, ids)) == GOLDEN.read_bytes()


def test_every_other_model_has_the_full_set():
    targets = [entry for entry in load_catalogue().values() if entry.kind is ModelKind.TARGET]
    assert {entry.name: entry.tools for entry in targets if entry.tools is ToolSet.BASIC} == {"nano": ToolSet.BASIC}
    assert len(targets) > 1


def test_both_sets_find_search_and_edit_and_the_full_one_reads():
    basic, full = NANO.specs, FULL.specs
    assert [spec.name for spec in basic] == ["find", "search", "edit"]
    looks, changes = ["find", "search", "list", "read"], ["edit", "replace_symbol", "write", "move", "delete"]
    assert [spec.name for spec in full] == [*looks, *changes, "shell", "todo"]
    assert basic[2] == full[4]


def test_the_full_set_searches_in_more_ways():
    basic, full = NANO.specs, FULL.specs
    assert list(basic[1].parameters["properties"]) == ["list", "pattern"]
    assert full[1].parameters["properties"]["mode"]["enum"] == ["regex", "symbol", "uses", "ranked"]


def test_a_set_does_what_it_says(tmp_path):
    (tmp_path / "a.py").write_text("def f():\n    pass\n")
    workspace, codebase = Workspace(tmp_path), Codebase(tmp_path, tmp_path / "cache")
    boxes = [Toolbox(profile, workspace, codebase=codebase) for profile in (NANO, FULL)]
    found = [run_tool(box, "find", {"pattern": "a.py"}).output for box in boxes]
    assert found == ["`a.py` defines:\n1. `f:1`", "a.py\nf a.py:1: def f():"]


def test_the_small_model_is_told_of_edits_by_the_tool_alone():
    assert "edit" in FULL.system_prompt
    assert "edit" not in NANO.system_prompt


def test_every_set_that_an_entry_can_name_has_a_profile():
    assert set(PROFILES) == set(ToolSet)


def test_a_profile_follows_the_turns_of_the_entry():
    assert profile_of(replace(load_catalogue()["xs-2.1"], turns=3)) == replace(FULL, turns=3)


def test_a_model_whose_format_has_no_calls_has_no_tools():
    entry = replace(load_catalogue()["xs-2.1"], turns=3)
    assert profile_of(entry, writes_calls=False) == replace(CHAT, turns=3)
    assert CHAT.specs == ()


def test_tools_that_search_an_index_are_refused_without_one(tmp_path):
    with pytest.raises(ValueError, match="codebase"):
        Toolbox(FULL, Workspace(tmp_path))


@pytest.mark.parametrize("profile", [NANO, FULL])
def test_a_toolbox_runs_what_the_model_is_told_of(tmp_path, profile):
    box = Toolbox(profile, Workspace(tmp_path), codebase=Codebase(tmp_path, tmp_path / "cache"))
    names = ", ".join(spec.name for spec in profile.specs)
    assert run_tool(box, "other", {}).output == f"error: there is no tool other; the tools are {names}"
    assert not any("there is no tool" in run_tool(box, spec.name, {}).output for spec in profile.specs)
