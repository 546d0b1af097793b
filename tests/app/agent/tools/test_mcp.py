"""MCP servers, each a real process over stdio: what is offered, what calls answer, and what a bad server costs."""

import json
import shutil
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.chat.call_arguments import BadArguments, parse_arguments
from laguna_engine.chat.messages import ToolSpec
from laguna_engine.chat.template import to_json
from laguna_engine.files import write_atomically
from laguna_tui.agent.tool_run import PermissionDenied, ToolError, ToolRun
from laguna_tui.agent.tools.mcp import mcp_process, mcp_tools
from laguna_tui.agent.tools.mcp.mcp_config import (
    FOLDER_FILE,
    MAX_SERVERS,
    client_server,
    load_servers,
    trust_servers,
)
from laguna_tui.agent.tools.mcp.mcp_tools import LISTS, MAX_NAME, McpTools, usable
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import config_path, data_root
from laguna_tui.base.permission_request import Decision, PermissionAnswer
from laguna_tui.base.settings import Settings
from laguna_tui.context.trust import Trust
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.sandbox.native.landlock_ruleset import LEAST_ABI, landlock_abi
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus, probe_sandbox
from laguna_tui.sandbox.runner import CommandRunner
from laguna_tui.session.session import Session
from laguna_tui.session.values import SessionOptions
from tests import mcp_server, odd_mcp_server
from tests.app.approvers import run_tool

SERVER = str(Path(mcp_server.__file__).resolve())
ODD = str(Path(odd_mcp_server.__file__).resolve())
BY_HAND = ("odd", "says", "pages", "repeats", "marked", "closes")
NAMES = ["mcp__notes__echo", "mcp__notes__variables", "mcp__notes__write_file_"]


def names(how: str = "plain", **more) -> bytes:
    server = {"command": sys.executable, "args": [ODD if how in BY_HAND else SERVER, how], **more}
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
        return self.tools_of(CommandRunner(self.project, probe=lambda: unconfined))

    def tools_of(self, runner: CommandRunner) -> McpTools:
        """The tools as they are where the commands of the session run like this."""
        return McpTools(self.project, self.state, lambda: runner, own=self.own)

    def run(self, *, allowed: bool = True, cancelled=lambda: False) -> ToolRun:
        def ask(request):
            self.asked.append(request)
            if not allowed:
                raise PermissionDenied("no")
            return PermissionAnswer(Decision.YES)

        return ToolRun(Workspace(self.project), 1, self.emitted.append, ask, cancelled)

    def call(self, tools, number: int, arguments, **how) -> str:
        offered = tools.offer()
        return offered[number].run(None, self.run(**how), arguments).output


@pytest.fixture
def place(tmp_path, monkeypatch):
    # A busy machine may need longer than a user should wait.
    monkeypatch.setattr(mcp_tools, "OFFER_S", 60.0)
    return Place(tmp_path)


def eventually(holds) -> None:
    """Wait until this holds."""
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


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


@pytest.mark.parametrize(("half", "shown"), [("escaped", "half ?"), ("bytes", "half \N{REPLACEMENT CHARACTER}")])
def test_an_answer_with_half_a_character_is_an_answer(place, half, shown):
    place.own.write_bytes(names("cuts"))
    with closing(place.tools()) as tools:
        assert place.call(tools, 0, {"text": half}) == shown


def test_half_a_character_in_an_argument_is_replaced(place):
    place.own.write_bytes(names())
    with closing(place.tools()) as tools:
        assert place.call(tools, 0, {"text": "half \ud83d"}).startswith("half ?")


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        (
            {"content": [{"type": "resource", "resource": {"uri": "notes://1", "text": "the note"}}]},
            "[resource notes://1]\nthe note",
        ),
        (
            {"content": [{"type": "resource", "resource": {"uri": "notes://1", "blob": "AA=="}}]},
            "[resource notes://1]",
        ),
        ({"content": [{"type": "resource_link", "uri": "notes://1", "name": "x"}]}, "[resource_link notes://1]"),
        (
            {"content": [{"type": "image"}, {"type": "hologram", "of": []}, {"text": "?"}, 5, None]},
            "[image]\n[hologram]\n[unknown]\n[unknown]\n[unknown]",
        ),
        ({"content": [{"type": "text", "text": "said"}, {"type": "hologram"}]}, "said\n[hologram]"),
        ({"content": [], "structuredContent": {"degrees": 21, "city": "Köln"}}, '{"degrees": 21, "city": "Köln"}'),
        ({"structuredContent": {"degrees": 21}}, '{"degrees": 21}'),
        ({"content": [{"type": "text", "text": "21"}], "structuredContent": {"degrees": 21}}, "21"),
        ({"content": None, "isError": None}, "(no output)"),
    ],
)
def test_all_of_an_answer_that_is_text_reaches_the_model(place, result, text):
    place.own.write_bytes(names("says"))
    with closing(place.tools()) as tools:
        assert place.call(tools, 0, {"text": json.dumps(result)}) == text


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"content": [{"type": "text", "text": "no such note"}], "isError": True}, "no such note"),
        (
            None,
            "the MCP server notes failed: its answer breaks the protocol: JSONRPCError.error: Field required; go on"
            " without it, or tell the user",
        ),
        ({}, "the MCP server notes failed: content: Field required; go on without it, or tell the user"),
    ],
)
def test_an_answer_that_is_none_is_an_error_in_one_line(place, result, reason):
    place.own.write_bytes(names("says"))
    with closing(place.tools()) as tools:
        with pytest.raises(ToolError) as raised:
            place.call(tools, 0, {"text": json.dumps(result)})
        assert str(raised.value) == reason
        assert tools.overview()[0].running


def test_all_pages_of_a_list_are_read_and_what_is_left_out_is_counted(place):
    place.own.write_bytes(names("pages"))
    with closing(place.tools()) as tools:
        assert [tool.name for tool in tools.offer()] == [f"mcp__notes__t{at:03}" for at in range(64)]
        assert tools.notes == [
            "64 of 300 tools of the MCP server notes are used; left out: t064 (a server may offer at most 64 tools);"
            " t065 (a server may offer at most 64 tools); t066 (a server may offer at most 64 tools); and 233 more."
        ]


def test_a_list_whose_pages_repeat_ends(place):
    place.own.write_bytes(names("repeats"))
    with closing(place.tools()) as tools:
        assert [tool.name for tool in tools.offer()] == ["mcp__notes__echo"]


def test_a_byte_order_mark_before_the_first_message_is_ignored(place):
    place.own.write_bytes(names("marked"))
    with closing(place.tools()) as tools:
        assert [tool.name for tool in tools.offer()] == ["mcp__notes__echo"]


@pytest.mark.parametrize("probe", [probe_sandbox, lambda: SandboxStatus(SandboxKind.NONE, "")], ids=["sandbox", "none"])
def test_a_server_that_closes_its_output_has_ended(place, probe):
    place.own.write_bytes(names("closes"))
    with closing(place.tools_of(CommandRunner(place.project, probe=probe))) as tools:
        with pytest.raises(ToolError) as raised:
            place.call(tools, 0, {"text": "hi"})
        assert str(raised.value) == "the MCP server notes ended; go on without it, or tell the user"


def test_every_message_about_progress_begins_the_time_of_a_call_again(place, monkeypatch):
    """The server reports progress every 0.1 seconds and needs 3 seconds."""
    monkeypatch.setattr(mcp_process, "CALL_S", 2.0)
    place.own.write_bytes(names("works"))
    with closing(place.tools()) as tools:
        assert place.call(tools, 0, {"text": "done"}).startswith("done")
        monkeypatch.setattr(mcp_process, "LONGEST_CALL_S", 1.0)
        with pytest.raises(
            ToolError, match="the MCP server notes does not answer echo within 1 seconds, and was ended"
        ):
            place.call(tools, 0, {"text": "done"})


def test_the_time_of_a_call_is_that_of_the_servers_entry(place):
    place.own.write_bytes(names("hangs", timeout=1000, startTimeout=60_000))
    with (
        closing(place.tools()) as tools,
        pytest.raises(ToolError, match="the MCP server notes does not answer echo within 1 seconds, and was ended"),
    ):
        place.call(tools, 0, {"text": "hi"})


def test_a_server_that_was_slow_is_not_waited_for_again(place, monkeypatch):
    monkeypatch.setattr(mcp_tools, "OFFER_S", 0.5)
    servers = {name: {"command": sys.executable, "args": [SERVER, "silent"]} for name in ("a", "b")}
    place.own.write_text(json.dumps({"mcpServers": servers}))
    with closing(place.tools()) as tools:
        assert tools.offer() == ()
        assert tools.notes == [
            f"The MCP server {name} is not ready after 0 seconds, so its tools come with the next session. To wait"
            " for it: laguna-tui mcp list"
            for name in ("a", "b")
        ]
    monkeypatch.setattr(mcp_tools, "OFFER_S", 3600.0)
    with closing(place.tools()) as tools:
        assert tools.offer() == ()
        assert tools.notes == [
            f"The MCP server {name} was slow to start before, so it is started in the background and its tools come"
            " with the next session. To wait for it: laguna-tui mcp list"
            for name in ("a", "b")
        ]


def test_a_slow_server_is_listed_for_the_next_session(place, monkeypatch):
    monkeypatch.setattr(mcp_tools, "OFFER_S", 0.0)
    place.own.write_bytes(names("waits"))
    with closing(place.tools()) as tools:
        assert tools.offer() == ()
        (place.project / "go").touch()
        eventually(lambda: b"echo" in (place.state / LISTS).read_bytes())
        (overview,) = tools.overview()
        assert (overview.tools, overview.problem) == ((), "not ready, so without tools in this session")
    with closing(place.tools()) as tools:
        assert [tool.name for tool in tools.offer()] == NAMES


def test_a_session_that_ends_starts_no_server_any_more(place, monkeypatch):
    monkeypatch.setattr(mcp_tools, "OFFER_S", 0.0)
    place.own.write_bytes(names())
    tools = place.tools()
    process = tools._process(tools._servers[0])
    tools.close()
    with pytest.raises(mcp_process.McpError, match="the MCP server notes ended with the session"):
        process.tools()
    assert not process.running


LANDLOCK = SandboxStatus(SandboxKind.LANDLOCK, "")
landlock = pytest.mark.skipif(landlock_abi() < LEAST_ABI, reason="this kernel has no Landlock")


@pytest.mark.parametrize("probe", [probe_sandbox, pytest.param(lambda: LANDLOCK, marks=landlock)], ids=["", "landlock"])
def test_a_server_works_in_the_sandbox(place, probe):
    place.own.write_bytes(names())
    with closing(place.tools_of(CommandRunner(place.project, probe=probe))) as tools:
        assert place.call(tools, 2, {"text": "kept"}) == "written"
    assert (place.project / "note.txt").read_text() == "kept"


@pytest.mark.parametrize("probe", [probe_sandbox, pytest.param(lambda: LANDLOCK, marks=landlock)], ids=["", "landlock"])
def test_a_server_in_a_hidden_folder_does_not_start_and_the_folder_is_named(place, tmp_path, monkeypatch, probe):
    if probe().kind is SandboxKind.NONE:
        pytest.skip(probe().sentence)
    monkeypatch.setenv("HOME", str(tmp_path))
    program = tmp_path / ".claude/local/server"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho started >&2\n")
    program.chmod(0o755)
    place.own.write_bytes(names(command=str(program)))
    with closing(place.tools_of(CommandRunner(place.project, probe=probe))) as tools:
        assert tools.offer() == ()
        assert "started" not in tools.notes[0]
        folder = program.parent.parent
        assert (
            f": commands cannot read {program}, because {folder} is hidden from them; move it to another folder"
        ) in tools.notes[0]


@pytest.fixture
def ruled(place):
    """What a server does in a folder whose rules keep `private` from being read and `fixed` from being changed."""
    if probe_sandbox().kind not in (SandboxKind.BUBBLEWRAP, SandboxKind.SANDBOX_EXEC):
        pytest.skip(probe_sandbox().sentence)
    for name in ("private", "fixed", "opened"):
        (place.project / name).mkdir()
        (place.project / name / "a.txt").write_text(f"{name} text")
    (place.project / ".env").write_text("KEY=secret")
    place.own.write_bytes(names("runs"))
    place.kept = (("private/**",), ("fixed/**",))
    runner = CommandRunner(place.project, path_rules=lambda: place.kept)
    with closing(place.tools_of(runner)) as tools:
        yield lambda command: place.call(tools, 0, {"text": command})


def test_a_server_reads_and_writes_nothing_that_the_users_rules_deny(ruled, place):
    assert "private text" not in ruled("cat private/a.txt")
    assert "secret" not in ruled("cat .env")
    assert ruled("cat fixed/a.txt opened/a.txt") == "fixed textopened text"
    assert "Read-only" in ruled("echo x > fixed/a.txt") or "not permitted" in ruled("echo x > fixed/a.txt")
    ruled("mv fixed elsewhere; mv private elsewhere; rm -rf private fixed; echo x > opened/a.txt")
    assert (place.project / "private/a.txt").read_text() == "private text"
    assert (place.project / "fixed/a.txt").read_text() == "fixed text"
    assert (place.project / "opened/a.txt").read_text() == "x\n"


def test_a_server_that_cannot_be_kept_from_all_secrets_is_not_started(place):
    if probe_sandbox().kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(probe_sandbox().sentence)
    place.own.write_bytes(names())
    (place.project / "keys").mkdir()
    for number in range(1_010):
        (place.project / f"keys/{number}.pem").touch()
    with closing(place.tools_of(CommandRunner(place.project))) as tools:
        assert tools.offer() == ()
        assert "most of them are in keys, so hide that folder: laguna-tui permissions deny" in tools.notes[0]
    with closing(place.tools_of(CommandRunner(place.project, path_rules=lambda: (("keys/**",), ())))) as tools:
        assert place.call(tools, 2, {"text": "kept"}) == "written"


def test_a_rule_that_is_added_while_a_server_runs_holds_from_its_next_call(ruled, place):
    assert ruled("cat opened/a.txt") == "opened text"
    first = ruled("echo $PPID")
    assert ruled("echo $PPID") == first, "the server is not started again without need"
    place.kept = (("private/**", "opened/**"), ("fixed/**",))
    assert "opened text" not in ruled("cat opened/a.txt")


def test_the_servers_of_a_session_are_held_to_its_rules(ruled, place, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write_atomically(config_path().parent / "mcp.json", names("runs"))
    model = shutil.copy(data_root() / "assets/nano/laguna-nano.gguf", tmp_path / "any.gguf")
    options = SessionOptions(deny=["read(private/**)", "edit(fixed/**)"], allow=["mcp__notes__run"])
    settings = Settings(model=str(model), threads=1, max_tokens=4)
    with closing(Session(settings, place.project, place.state, options)) as session:
        session.open(lambda progress: None)
        command = {"text": "cat private/a.txt fixed/a.txt; echo x > fixed/a.txt"}
        said = run_tool(session.opened().toolbox, "mcp__notes__run", command).output
    assert "fixed text" in said
    assert "private text" not in said
    assert (place.project / "fixed/a.txt").read_text() == "fixed text"


def test_a_model_with_its_own_tools_only_starts_no_servers_and_the_user_is_told(place, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = config_path().parent / "mcp.json"
    write_atomically(file, names("crashes"))
    with closing(Session(Settings(model="nano", threads=1), place.project, place.state)) as session:
        note = f"Laguna Nano uses its own tools only, so the MCP servers of {file} are not started."
        assert note in session.open(lambda progress: None).warnings
        assert session.folder.mcp().startswith("notes: ")


@pytest.mark.parametrize("kind", [SandboxKind.NONE, SandboxKind.LANDLOCK])
def test_a_call_is_always_asked_about_where_no_sandbox_can_hold_the_rules(place, kind):
    place.own.write_bytes(names())
    runner = CommandRunner(
        place.project, probe=lambda: SandboxStatus(kind, ""), path_rules=lambda: (("private/**",), ("fixed/**",))
    )
    with closing(place.tools()) as tools:
        tools.offer()
    with closing(place.tools_of(runner)) as tools, pytest.raises(PermissionDenied):
        place.call(tools, 0, {"text": "hi"}, allowed=False)
    assert place.asked[0].approval_reason == (
        "the MCP server notes could read or change what one of your rules protects, and no sandbox that works here can"
        " prevent that"
    )


def test_a_stopped_turn_stops_the_call_and_the_server_runs_on(place):
    place.own.write_bytes(names("stops"))
    with closing(place.tools()) as tools:
        first = place.call(tools, 0, {"text": "pid"})
        with pytest.raises(ToolError) as raised:
            place.call(tools, 0, {"text": "wait"}, cancelled=(place.project / "waiting").exists)
        assert str(raised.value) == (
            "the call of the MCP server notes was stopped with the turn; go on without it, or tell the user"
        )
        eventually((place.project / "cancelled").exists)
        assert place.call(tools, 0, {"text": "pid"}) == first


def test_a_server_that_does_not_listen_is_ended_with_the_turn(place, monkeypatch):
    monkeypatch.setattr(mcp_process, "_PING_S", 0.5)
    place.own.write_bytes(names("stops"))
    with closing(place.tools()) as tools:
        with pytest.raises(ToolError) as raised:
            place.call(tools, 0, {"text": "block"}, cancelled=(place.project / "waiting").exists)
        assert str(raised.value) == (
            "the MCP server notes was stopped with the turn; go on without it, or tell the user"
        )
        assert not tools.overview()[0].running


def test_a_turn_that_is_stopped_while_a_server_starts_ends_it(place):
    place.own.write_bytes(names())
    with closing(place.tools()) as tools:
        tools.offer()
    with closing(place.tools()) as tools:
        with pytest.raises(ToolError, match="the MCP server notes was stopped with the turn"):
            place.call(tools, 0, {"text": "hi"}, cancelled=lambda: True)
        assert not tools.overview()[0].running


def test_a_module_of_the_workspace_is_not_taken_for_an_installed_server(place):
    """`python -m` looks in the current folder first, and the server has the user's credentials."""
    (place.project / "json.py").write_text("raise SystemExit('hostile')")
    (place.project / "notes_server.py").write_text("raise SystemExit('hostile')")
    server = {"command": sys.executable, "args": ["-m", "notes_server"], "env": {"TOKEN": "of the server"}}
    place.own.write_text(json.dumps({"mcpServers": {"notes": server}}))
    with closing(place.tools()) as tools:
        assert tools.offer() == ()
        (note,) = tools.notes
    assert "No module named notes_server" in note


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


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": []}'])
def test_a_wrong_file_is_refused_with_a_sentence(place, text):
    place.own.write_text(text)
    with pytest.raises(UserError, match=r"mcp\.json"):
        place.tools()


@pytest.mark.parametrize(
    ("name", "server", "why"),
    [
        ("a b", {"command": "x"}, "it needs a name of at most 32 letters, digits, - and single _"),
        (
            "a",
            {"url": "https://x"},
            'it is at a URL, which is not supported; give its command, or set "disabled": true',
        ),
        ("a", {}, 'it has no command; give its command, or set "disabled": true'),
        ("a", {"command": "x\0"}, "it holds a NUL character; remove it"),
        ("a", {"command": "x", "args": [1]}, "Expected `str`, got `int` - at `$.args[0]`"),
        ("a", 5, "Expected `object`, got `int`"),
        ("a", {"command": "x", "timeout": 60}, 'its "timeout" is in milliseconds, from 1,000 to 3,600,000'),
        ("a", {"command": "x", "startTimeout": 0}, 'its "startTimeout" is in milliseconds, from 1,000 to 3,600,000'),
    ],
)
def test_a_wrong_server_is_left_out_alone(place, name, server, why):
    place.own.write_text(json.dumps({"mcpServers": {name: server, "good": {"command": "x"}}}))
    found = load_servers(place.project, Trust(place.state), place.own)
    assert [each.name for each in found.servers] == ["good"]
    assert found.notes == (f"{place.own}: the server {name!r} is left out: {why}.",)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            '{"servers": {"a": {"command": "x"}}, "inputs": []}',
            '{file}: these keys have no effect: "servers", "inputs". Servers go into "mcpServers".',
        ),
        (
            '{"mcpServers": {"a": {"command": "x", "cwd": "/tmp", "autoApprove": ["x"]}}}',
            '{file}: these settings of the server \'a\' have no effect here: "cwd", "autoApprove". Remove them.',
        ),
        (
            '{"mcpServers": {"a": {"command": "x", "url": "https://x"}}}',
            "{file}: these settings of the server 'a' have no effect here: \"url\". Remove them.",
        ),
        (
            '{"mcpServers": {"a": {"command": "x", "args": ["${HOME}/x"], "env": {"T": "${T:-x}", "U": "${HOME}"}}}}',
            "{file}: variables of the server 'a' are not expanded: ${HOME}, ${T:-x}. Write their values instead.",
        ),
    ],
)
def test_what_a_file_says_without_effect_is_named(place, text, note):
    place.own.write_text(text)
    found = load_servers(place.project, Trust(place.state), place.own)
    assert found.notes == (note.replace("{file}", str(place.own)),)
    assert [each.name for each in found.servers] == (["a"] if "mcpServers" in text else [])


def test_what_every_program_understands_is_not_named(place):
    server = {"type": "stdio", "command": "x", "args": ["y"], "env": {"T": "z"}, "network": True}
    file = {"$schema": "https://x", "mcpServers": {"a": server, "b": {"url": "https://x", "disabled": True}}}
    place.own.write_bytes(b"\xef\xbb\xbf" + json.dumps(file).encode())
    found = load_servers(place.project, Trust(place.state), place.own)
    assert [(each.name, each.command, each.network) for each in found.servers] == [("a", ("x", "y"), True)]
    assert found.notes == ()


def test_of_two_servers_with_one_name_the_users_own_is_used_and_the_other_is_named(place):
    place.own.write_bytes(names())
    (place.project / FOLDER_FILE).write_bytes(names("other"))
    trust = Trust(place.state)
    trust_servers(place.project, trust)
    client = client_server("the editor", "notes", ("x",), {}, ())
    found = load_servers(place.project, trust, place.own, (client,))
    assert [each.source for each in found.servers] == [str(place.own)]
    assert found.notes == tuple(
        f"{source}: the server 'notes' is left out, because {place.own} has one with this name; rename one of them."
        for source in ("the editor", place.project / FOLDER_FILE)
    )


def test_servers_beyond_the_limit_are_named(place):
    servers = {f"s{at:02}": {"command": "x"} for at in range(MAX_SERVERS + 2)}
    place.own.write_text(json.dumps({"mcpServers": servers}))
    found = load_servers(place.project, Trust(place.state), place.own)
    assert len(found.servers) == MAX_SERVERS
    assert found.notes == (f"Only 16 MCP servers are used; left out: s16, s17. Disable some in {place.own}.",)


@pytest.mark.parametrize(
    ("name", "used", "becomes"),
    [
        ("git-hub_2", (), "git-hub_2"),
        ("My Server!", (), "My-Server"),
        ("a__b", (), "a_b"),
        ("git", ("git",), "git-9a881b"),
        ("\N{CJK UNIFIED IDEOGRAPH-8AAD}", (), "be93c7"),
        ("n" * 40, (), f"{'n' * 25}-527ccc"),
    ],
)
def test_a_clients_server_has_any_name(name, used, becomes):
    assert client_server("the editor", name, ("x",), {}, used).name == becomes


def test_a_server_that_does_not_start_leaves_the_others(place):
    servers = {"broken": {"command": "/no/such/program"}, **json.loads(names())["mcpServers"]}
    place.own.write_text(json.dumps({"mcpServers": servers}))
    with closing(place.tools()) as tools:
        assert [tool.name for tool in tools.offer()] == NAMES
        assert [bool(each.problem) for each in tools.overview()] == [True, False]


PLAIN = {"type": "object"}


def parameter(schema, **more):
    return {"type": "object", "properties": {"a": schema}, **more}


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        (5, "number 2 (it has no name)"),
        ({"name": None, "inputSchema": PLAIN}, "number 2 (it has no name)"),
        ({"name": "", "inputSchema": PLAIN}, " (it has no name)"),
        ({"name": "fi ne", "inputSchema": PLAIN}, "fi ne (another tool has this name)"),
        ({"name": "x"}, "x (its schema is not one of an object)"),
        ({"name": "x", "inputSchema": "{}"}, "x (its schema is not one of an object)"),
        ({"name": "x", "inputSchema": {"type": "array"}}, "x (its schema is not one of an object)"),
        ({"name": "x", "inputSchema": parameter(5)}, "x (a parameter of its schema is not a schema)"),
        ({"name": "x", "inputSchema": parameter({"type": [{}]})}, "x (a parameter of its schema is not a schema)"),
        (
            {"name": "x", "inputSchema": parameter({}, required=["b"])},
            "x (its schema requires parameters that it does not have)",
        ),
        (
            {"name": "x", "inputSchema": {"type": "object", "properties": {f"p{at}": {} for at in range(65)}}},
            "x (it has more than 64 parameters)",
        ),
        (
            {"name": "x", "inputSchema": {"type": "object", "properties": {"</arg_key>": {}}}},
            "x (a parameter is called '</arg_key>')",
        ),
        (
            {"name": "x", "inputSchema": parameter({"description": "y" * 5000})},
            "x (its schema has more than 4,096 characters)",
        ),
        (
            {"name": "x", "inputSchema": parameter({"default": json.loads("[" * 40 + "]" * 40)})},
            "x (its schema is nested more than 32 deep)",
        ),
        (
            {"name": "x", "inputSchema": parameter({"$ref": "#/$defs/Missing"})},
            "x (its schema refers to something that is not in it)",
        ),
        (
            {"name": "x", "inputSchema": parameter({"$ref": "https://example.org/schema"})},
            "x (its schema refers to something that is not in it)",
        ),
        (
            {"name": "x", "inputSchema": parameter({"maximum": float("inf")})},
            "x (its schema holds a number that is not finite)",
        ),
    ],
)
def test_an_unusable_tool_is_left_out_alone(tool, why):
    offered, problems = usable("s", [{"name": "fi ne", "inputSchema": PLAIN}, tool])
    assert offered[0].name == "mcp__s__fi_ne"
    assert "; ".join(problems) == why


@pytest.mark.parametrize(
    ("names", "offered"),
    [
        (["git.log"], ["git_log"]),
        (["fs/read", "fs.read", "fs_read"], ["fs_read_963799", "fs_read_4074bc", "fs_read"]),
        (["é", "\N{CJK UNIFIED IDEOGRAPH-8AAD}"], ["__4a9955", "__be93c7"]),
        (["n" * 80, "n" * 79 + "m"], [f"{'n' * 49}_feed93", f"{'n' * 49}_1af0d4"]),
    ],
)
def test_a_tool_of_any_name_is_offered_under_a_name_of_its_own(names, offered):
    tools, problems = usable("s", [{"name": name, "inputSchema": PLAIN} for name in names])
    assert {tool.theirs: tool.name for tool in tools} == {
        name: f"mcp__s__{masked}" for name, masked in zip(names, offered, strict=True)
    }
    assert all(len(tool.name) <= MAX_NAME for tool in tools)
    assert problems == ()


def test_a_server_offers_at_most_64_tools():
    offered, problems = usable("s", [{"name": f"t{at:02}", "inputSchema": PLAIN} for at in range(66)])
    assert len(offered) == 64
    assert problems == tuple(f"t{at} (a server may offer at most 64 tools)" for at in (64, 65))


def test_what_a_schema_refers_to_stays_in_it():
    schema = {**parameter({"$ref": "#/$defs/Place"}), "$defs": {"Place": {"type": "string"}}, "title": "Arguments"}
    (tool,), _ = usable("s", [{"name": "x", "inputSchema": schema}])
    assert tool.parameters == {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Place"}},
        "$defs": {"Place": {"type": "string"}},
        "required": [],
    }


def test_texts_of_a_tool_are_sanitised():
    schema = parameter({"description": "a\x1b[31m\ud800"})
    (tool,), _ = usable("s", [{"name": "x", "description": "x" * 5000, "inputSchema": schema}])
    assert tool.parameters["properties"]["a"]["description"] == "a␛[31m\N{REPLACEMENT CHARACTER}"
    assert len(tool.description) == 1000


def test_a_server_with_unusable_tools_works_with_the_others(place):
    place.own.write_bytes(names("odd"))
    with closing(place.tools()) as tools:
        assert [tool.name for tool in tools.offer()] == ["mcp__notes__echo"]
        assert tools.notes == [
            "1 of 7 tools of the MCP server notes are used; left out: number 2 (it has no name); no_schema (its schema"
            " is not one of an object); many (it has more than 64 parameters); and 3 more."
        ]
        assert place.call(tools, 0, {"text": "hi"}) == "hi"


KEYWORDS = st.sampled_from(["type", "enum", "$ref", "$defs", "properties", "required", "items", "a"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=8) | KEYWORDS, inside, max_size=4),
    max_leaves=12,
)
schemas = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(
            st.sampled_from("abc"), st.dictionaries(KEYWORDS, json_values, max_size=3), max_size=3
        ),
        "required": st.just(["a"]) | json_values,
        "$defs": json_values,
    },
)


@given(
    st.lists(st.fixed_dictionaries({"name": st.text(), "inputSchema": schemas | json_values}) | json_values), st.text()
)
def test_whatever_a_server_lists_can_be_offered_to_a_model(listed, value):
    offered, _ = usable("s", listed)
    for tool in offered:
        spec = ToolSpec(tool.name, tool.description, tool.parameters)
        to_json(spec.as_openai()).encode()
        with suppress(BadArguments):
            parse_arguments(spec, [(name, value) for name in tool.parameters["properties"]])
