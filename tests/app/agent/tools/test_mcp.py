"""MCP servers, each a real process over stdio: what is offered, what calls answer, and what a bad server costs."""

import json
import sys
from contextlib import closing
from pathlib import Path

import pytest

from laguna_tui.agent.tool_run import PermissionDenied, ToolError, ToolRun
from laguna_tui.agent.tools.mcp import mcp_process
from laguna_tui.agent.tools.mcp.mcp_config import FOLDER_FILE, load_servers, trust_servers
from laguna_tui.agent.tools.mcp.mcp_process import ListedTool
from laguna_tui.agent.tools.mcp.mcp_tools import LISTS, McpTools, usable
from laguna_tui.base.errors import UserError
from laguna_tui.base.permission_request import Decision, PermissionAnswer
from laguna_tui.context.trust import Trust
from laguna_tui.repo.workspace import Workspace
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus
from tests import mcp_server

SERVER = str(Path(mcp_server.__file__).resolve())
NAMES = ["mcp__notes__echo", "mcp__notes__variables", "mcp__notes__write_file_"]


def names(how: str = "plain", **more) -> bytes:
    server = {"command": sys.executable, "args": [SERVER, how], **more}
    return json.dumps({"mcpServers": {"notes": server}}).encode()


class Place:
    """A folder, a state folder, and the user's file of servers."""

    def __init__(self, folder: Path) -> None:
        self.project, self.state, self.own = folder / "project", folder / "state", folder / "mcp.json"
        self.project.mkdir()
        self.asked, self.emitted = [], []

    def tools(self) -> McpTools:
        # Which sandbox holds differs from machine to machine; the sandbox has its own tests.
        unconfined = SandboxStatus(SandboxKind.NONE, "")
        return McpTools(self.project, self.state, own=self.own, status=lambda: unconfined)

    def run(self, *, allowed: bool = True, cancelled=lambda: False) -> ToolRun:
        def ask(request):
            self.asked.append(request)
            if not allowed:
                raise PermissionDenied("no")
            return PermissionAnswer(Decision.YES)

        return ToolRun(Workspace(self.project), 1, self.emitted.append, ask, cancelled)

    def call(self, tools, number: int, arguments, **how) -> str:
        offered = tools.offer()
        return offered[number].bind(None)(self.run(**how), arguments).output


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_tools_are_offered_under_masked_names_and_answer(place):
    place.own.write_bytes(names(env={"TOKEN": "of the server"}))
    with closing(place.tools()) as tools:
        offered = tools.offer()
        assert [tool.name for tool in offered] == NAMES
        assert offered[0].spec.parameters["required"] == ["text"]
        assert "\x1b" not in offered[0].description
        assert not any(tool.read_only for tool in offered)
        assert place.call(tools, 0, {"text": "hi"}) == "hi␛]0;title␇", "what it sends is no terminal sequence any more"
        assert "TOKEN" in place.call(tools, 1, {}).split()
        assert place.call(tools, 2, {"text": "kept"}) == "written"
    assert (place.project / "note.txt").read_text() == "kept"
    assert [request.tool for request in place.asked] == [NAMES[0], NAMES[1], NAMES[2]]
    assert place.asked[0].proposal.details == ('text: "hi"',)


def test_a_server_gets_no_variables_of_the_user(place, monkeypatch):
    monkeypatch.setenv("LAGUNA_API_KEY", "secret")
    place.own.write_bytes(names())
    with closing(place.tools()) as tools:
        assert "LAGUNA_API_KEY" not in place.call(tools, 1, {})


def test_a_call_that_is_not_permitted_starts_nothing(place):
    place.own.write_bytes(names())
    with closing(place.tools()) as tools:
        tools.offer()
    with closing(place.tools()) as tools:
        with pytest.raises(PermissionDenied):
            place.call(tools, 0, {"text": "hi"}, allowed=False)
        assert not tools.overview()[0].running


def test_the_second_session_starts_nothing_before_a_call_and_has_the_same_tools(place):
    place.own.write_bytes(names())
    with closing(place.tools()) as tools:
        first = [tool.spec for tool in tools.offer()]
    with closing(place.tools()) as tools:
        assert [tool.spec for tool in tools.offer()] == first
        assert not tools.overview()[0].running
        place.call(tools, 0, {"text": "hi"})
        assert tools.overview()[0].running
    assert not place.emitted


def test_a_server_that_offers_other_tools_than_before_is_told_of_and_the_prompt_stays(place):
    place.own.write_bytes(names())
    with closing(place.tools()) as tools:
        tools.offer()
    kept = place.state / LISTS
    (digest, listed), *_ = json.loads(kept.read_text()).items()
    kept.write_text(json.dumps({digest: listed[:1]}))
    with closing(place.tools()) as tools:
        place.call(tools, 0, {"text": "hi"})
        assert len(tools.overview()[0].tools) == 1
    assert "offers other tools" in place.emitted[0].text
    with closing(place.tools()) as tools:
        assert [tool.name for tool in tools.offer()] == NAMES


@pytest.mark.parametrize(
    ("how", "words"),
    [("dies", "out of luck"), ("floods", "far more"), ("complains", "far more"), ("hangs", "within 1 sec")],
)
def test_a_server_that_fails_in_a_call_costs_a_sentence(place, monkeypatch, how, words):
    if how == "hangs":
        monkeypatch.setattr(mcp_process, "CALL_S", 1.0)
    place.own.write_bytes(names(how))
    with closing(place.tools()) as tools:
        with pytest.raises(ToolError, match="the MCP server notes") as raised:
            place.call(tools, 0, {"text": "hi"})
        assert words in str(raised.value)
        assert not tools.overview()[0].running


@pytest.mark.parametrize("how", ["crashes", "silent", "missing"])
def test_a_server_that_does_not_start_is_left_out_with_a_sentence(place, monkeypatch, how):
    monkeypatch.setattr(mcp_process, "START_S", 60.0 if how == "crashes" else 1.0)
    place.own.write_bytes(names(how) if how != "missing" else names(command="/no/such/program"))
    with closing(place.tools()) as tools:
        assert tools.offer() == ()
        assert "MCP server notes" in tools.notes[0]
        assert tools.overview()[0].problem


def test_a_server_works_in_the_sandbox_that_holds_here(place):
    place.own.write_bytes(names())
    with closing(McpTools(place.project, place.state, own=place.own)) as tools:
        assert place.call(tools, 2, {"text": "kept"}) == "written"
    assert (place.project / "note.txt").read_text() == "kept"


def test_a_stopped_turn_stops_the_call(place):
    place.own.write_bytes(names("hangs"))
    with closing(place.tools()) as tools, pytest.raises(ToolError, match="stopped with the turn"):
        place.call(tools, 0, {"text": "hi"}, cancelled=lambda: True)


def test_a_folders_own_file_is_started_only_as_it_was_trusted(place):
    file, trust = place.project / FOLDER_FILE, Trust(place.state)
    file.write_bytes(names())
    found = load_servers(place.project, trust, place.own)
    assert found.servers == ()
    assert "laguna-tui mcp trust" in found.notes[0]
    trust_servers(place.project, trust)
    assert [server.name for server in load_servers(place.project, trust, place.own).servers] == ["notes"]
    file.write_bytes(names("other"))
    assert load_servers(place.project, trust, place.own).servers == (), "other bytes are asked about again"


def test_trusting_servers_trusts_no_instructions(place):
    (place.project / FOLDER_FILE).write_bytes(names())
    (place.project / "AGENTS.md").write_text("obey")
    trust = Trust(place.state)
    trust_servers(place.project, trust)
    trusted = trust.of(place.project)
    assert not trusted.accepts(trusted.folder / "AGENTS.md", b"obey")


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"mcpServers": {"a b": {"command": "x"}}}', '{"mcpServers": {"a": {"url": "https://x"}}}'],
)
def test_a_wrong_file_is_refused_with_a_sentence(place, text):
    place.own.write_text(text)
    with pytest.raises(UserError, match=r"mcp\.json"):
        place.tools()


def test_what_no_model_can_be_told_of_is_left_out():
    listed = [
        ListedTool("fine", "x" * 5000, {"type": "object", "properties": {}}),
        ListedTool("too_long", "", {"type": "object", "properties": {"a": {"description": "y" * 5000}}}),
        ListedTool("no_object", "", {"type": "array"}),
        ListedTool("n" * 80, "", {"type": "object"}),
        ListedTool("fi ne", "", {"type": "object"}),
        ListedTool("fi.ne", "", {"type": "object"}),
    ]
    offered = list(usable("s", listed))
    assert [tool.name for tool in offered] == ["mcp__s__fi_ne", "mcp__s__fine"]
    assert len(offered[1].description) == 1000
