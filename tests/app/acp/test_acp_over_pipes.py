"""The agent as an editor has it: a process, its pipes, and nothing but the protocol on them."""

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from laguna_tui.cli.main import main
from tests import mcp_server
from tests.app.acp.pipe_client import WAIT_S, Failed, PipeClient, connected

Connect = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "shop"
    found.mkdir()
    (found / "add.py").write_text("def add(a, b):\n    return a - b\n")
    return found


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    """Connects to an agent whose model follows the text of a script."""

    def begin(script: str, *flags: str) -> Any:
        file = tmp_path / "script.py"
        file.write_text(f"from tests.scripted_model import call, say, think\n{script}\n")
        return connected(file, tmp_path, "--context", "16384", *flags)

    return begin


def opened(client: PipeClient, folder: Path) -> str:
    return client.ask("session/new", cwd=str(folder), mcpServers=[])["sessionId"]


EDIT = """
SCRIPT = [
    say(think("a and b"), call("read", path="./add.py", offset=1)),
    call("edit", path="add.py", old="a - b", new="a + b"),
    "It adds now.",
]
"""


def test_a_change_is_made_after_asking_with_its_diff(connect: Connect, folder: Path):
    with connect(EDIT, "--thinking") as client:
        assert client.greeting["agentCapabilities"]["loadSession"] is True
        session = opened(client, folder)
        client.permit = lambda request: "yes"
        ended = client.prompt(session, "fix add")
    assert ended["stopReason"] == "end_turn"
    assert ended["usage"]["inputTokens"] > ended["usage"]["cachedReadTokens"] > 0
    assert (folder / "add.py").read_text() == "def add(a, b):\n    return a + b\n"
    assert client.text() == "It adds now."
    assert client.text("agent_thought_chunk") == "a and b"
    (request,) = client.asked
    (diff,) = [each for each in request["toolCall"]["content"] if each["type"] == "diff"]
    assert (diff["path"], diff["newText"]) == (str(folder / "add.py"), "def add(a, b):\n    return a + b\n")
    assert [option["kind"] for option in request["options"]] == ["allow_once", "allow_always", "reject_once"]
    started = client.of_kind("tool_call")
    assert [each["kind"] for each in started] == ["read", "edit"]
    place = {"path": str(folder / "add.py")}
    assert [each["locations"] for each in started] == [[{**place, "line": 1}], [place]]
    assert request["toolCall"]["locations"] == [place]
    assert request["toolCall"]["toolCallId"] == started[1]["toolCallId"]
    last = {each["toolCallId"]: each["status"] for each in client.of_kind("tool_call_update")}
    assert last == {each["toolCallId"]: "completed" for each in started}
    usage = client.of_kind("usage_update")
    assert len(usage) == 3
    assert 0 < usage[0]["used"] < usage[-1]["used"] < usage[-1]["size"]


@pytest.mark.parametrize("answer", ["no", "", "YES", "yes ", "yes_with_network", "nonsense", "\ud800"])
@pytest.mark.sampled(3)
def test_a_change_that_is_refused_is_not_made(connect: Connect, folder: Path, answer: str):
    script = EDIT.replace('"It adds now."', "lambda seen: 'Refused.' if 'error' in seen.result else 'Made.'")
    with connect(script) as client:
        client.permit = lambda request: answer
        client.prompt(opened(client, folder), "fix add")
    assert client.text() == "Refused."
    assert "a - b" in (folder / "add.py").read_text()


HIDING = """
SCRIPT = [
    call("shell", cmd="ls" + chr(10) * 301 + "rm -rf bui" + chr(0x200B) + "ld"),
    call("shell", cmd="echo " + "a" * 600 + "; git reset --hard"),
    "Refused.",
]
"""


def test_a_command_is_shown_with_its_end_its_hidden_characters_and_what_it_destroys(connect: Connect, folder: Path):
    with connect(HIDING) as client:
        client.prompt(opened(client, folder), "clean up")
    first, second = (each["toolCall"] for each in client.asked)
    assert first["title"] == "DESTRUCTIVE: ls [300 blank lines] rm -rf bui<U+200B>ld"
    assert first["content"][0]["content"]["text"] == (
        "WARNING: rm -r deletes folders with everything in them.\n"
        "WARNING: It contains hidden or look-alike characters, marked where they are: U+200B ZERO WIDTH SPACE.\n"
        "ls\n[300 blank lines]\nrm -rf bui<U+200B>ld"
    )
    assert len(second["title"]) < 250
    assert second["title"].startswith("DESTRUCTIVE: echo aaa")
    assert second["title"].endswith("; git reset --hard")
    assert " more characters " in second["title"]
    assert second["content"][0]["content"]["text"].endswith("a; git reset --hard")
    assert [
        option["optionId"] for each in client.asked for option in each["options"] if option["optionId"] == "always"
    ] == []


def test_in_a_mode_that_edits_it_does_not_ask(connect: Connect, folder: Path):
    with connect(EDIT) as client:
        new = client.ask("session/new", cwd=str(folder), mcpServers=[])
        assert new["modes"]["currentModeId"] == "ask"
        assert {mode["id"] for mode in new["modes"]["availableModes"]} == {"ask", "accept-edits", "plan", "auto"}
        client.ask("session/set_mode", sessionId=new["sessionId"], modeId="accept-edits")
        client.prompt(new["sessionId"], "fix add")
        with pytest.raises(Failed, match="no mode"):
            client.ask("session/set_mode", sessionId=new["sessionId"], modeId="none")
    assert client.asked == []
    assert "a + b" in (folder / "add.py").read_text()
    contents = [each for update in client.of_kind("tool_call_update") for each in update.get("content") or []]
    assert any(each["type"] == "diff" for each in contents)


def test_a_plan_is_shown(connect: Connect, folder: Path):
    script = 'SCRIPT = [call("todo", items="[x] read\\n[~] edit\\n[ ] test"), "Planned."]'
    with connect(script) as client:
        client.prompt(opened(client, folder), "plan it")
    entries = [[(e["content"], e["status"]) for e in plan["entries"]] for plan in client.of_kind("plan")]
    assert entries[-1] == [("read", "completed"), ("edit", "in_progress"), ("test", "pending")]


def test_a_turn_that_is_cancelled_ends_so_and_the_next_one_is_answered(connect: Connect, folder: Path):
    with connect('SCRIPT = [" ".join(f"word{n}" for n in range(3000)), "Next."]') as client:
        session = opened(client, folder)
        client.on_update = lambda update: client.tell("session/cancel", sessionId=session)
        assert client.prompt(session, "talk")["stopReason"] == "cancelled"
        client.on_update = lambda update: None
        client.updates.clear()
        assert client.prompt(session, "go on")["stopReason"] == "end_turn"
    assert client.text() == "Next."


def test_sessions_of_two_folders_share_the_engine(connect: Connect, folder: Path, tmp_path: Path):
    """Asked at the same time each is answered, with its own conversation."""
    other = tmp_path / "other"
    other.mkdir()
    script = 'SCRIPT = lambda seen: "of the shop" if "shop?" in seen.text else "of the other"'
    with connect(script) as client:
        sessions = [opened(client, each) for each in (folder, other)]
        for _ in range(2):
            numbers = [
                client.send("session/prompt", sessionId=session, prompt=[{"type": "text", "text": f"{name}?"}])
                for session, name in zip(sessions, ("shop", "other"), strict=True)
            ]
            assert [client.answer(number)["stopReason"] for number in numbers] == ["end_turn"] * 2
    assert client.text(session=sessions[0]) == "of the shop" * 2
    assert client.text(session=sessions[1]) == "of the other" * 2


def test_a_session_is_listed_loaded_and_forked(connect: Connect, folder: Path):
    script = 'SCRIPT = lambda seen: str(seen.text.count("<user>")) + " messages"'
    with connect(script) as client:
        first = opened(client, folder)
        client.prompt(first, "one")
    with connect(script) as client:
        (listed,) = client.ask("session/list", cwd=str(folder))["sessions"]
        assert (listed["sessionId"], listed["cwd"], listed["title"]) == (first, str(folder), "one")
        client.ask("session/load", sessionId=first, cwd=str(folder), mcpServers=[])
        assert client.text("user_message_chunk") == "one"
        assert client.text() == "1 messages"
        client.updates.clear()
        client.prompt(first, "two")
        copy = client.ask("session/fork", sessionId=first, cwd=str(folder), mcpServers=[])["sessionId"]
        client.prompt(copy, "three")
        client.ask("session/close", sessionId=first)
        client.ask("session/resume", sessionId=first, cwd=str(folder), mcpServers=[])
        assert client.text("user_message_chunk") == ""
        client.prompt(first, "three as well")
    assert client.text(session=first) == "2 messages3 messages"
    assert client.text(session=copy) == "3 messages"


def test_a_session_comes_back_with_its_cache(connect: Connect, folder: Path):
    with connect('SCRIPT = lambda seen: "ok"') as client:
        session = opened(client, folder)
        for turn in range(2):
            client.prompt(session, f"{turn} " + "shop " * 400)
    with connect('SCRIPT = lambda seen: "ok"') as client:
        client.ask("session/resume", sessionId=session, cwd=str(folder), mcpServers=[])
        usage = client.prompt(session, "and now?")["usage"]
    assert usage["inputTokens"] - usage["cachedReadTokens"] < 100 < usage["inputTokens"], usage


TWO = """
def SCRIPT(seen):
    if "hello" in seen.text:
        return "Hello."
    return "It adds now." if seen.result else call("edit", path="add.py", old="a - b", new="a + b")
"""


def test_a_question_that_nobody_answers_holds_up_no_other_session(connect: Connect, folder: Path, tmp_path: Path):
    """And while a session's turn continues, its other requests are refused with a sentence."""
    other = tmp_path / "other"
    other.mkdir()
    with connect(TWO) as client:
        first, second = opened(client, folder), opened(client, other)
        asked, go = threading.Event(), threading.Event()

        def permit(request: Any) -> str:
            asked.set()
            go.wait(WAIT_S)
            return "yes"

        client.permit, client.beside = permit, True
        running = client.send("session/prompt", sessionId=first, prompt=[{"type": "text", "text": "fix add"}])
        assert asked.wait(WAIT_S)
        with pytest.raises(Failed, match="still answering; stop it"):
            client.prompt(first, "and this?")
        with pytest.raises(Failed, match="still answering; stop it"):
            client.ask("session/set_config_option", sessionId=first, configId="thinking", value="off")
        for _ in range(2):
            assert client.prompt(second, "hello")["stopReason"] == "end_turn"
        third = opened(client, other)
        assert client.prompt(third, "hello")["stopReason"] == "end_turn"
        go.set()
        assert client.answer(running)["stopReason"] == "end_turn"
    assert client.text(session=second) == "Hello." * 2
    assert client.text(session=first) == "It adds now."
    assert "a + b" in (folder / "add.py").read_text()


def test_a_turn_that_waits_for_another_session_s_answer_is_cancelled_alone(
    connect: Connect, folder: Path, tmp_path: Path
):
    other = tmp_path / "other"
    other.mkdir()
    with connect('SCRIPT = lambda seen: " ".join(f"word{n}" for n in range(1000))') as client:
        first, second = opened(client, folder), opened(client, other)
        begun = threading.Event()
        client.on_update = lambda update: begun.set()
        words = [{"type": "text", "text": "talk"}]
        running = client.send("session/prompt", sessionId=first, prompt=words)
        assert begun.wait(WAIT_S)
        waiting = client.send("session/prompt", sessionId=second, prompt=words)
        client.tell("session/cancel", sessionId=second)
        assert client.answer(waiting)["stopReason"] == "cancelled"
        assert client.answer(running)["stopReason"] == "end_turn"
    assert client.text(session=first).endswith(" word999")
    assert client.text(session=second) == ""


def test_thinking_is_an_option_that_keeps_the_conversation(connect: Connect, folder: Path):
    script = """SCRIPT = lambda seen: f"{seen.text.count('<user>')} {seen.text.endswith('<think>')}" """
    with connect(script) as client:
        new = client.ask("session/new", cwd=str(folder), mcpServers=[])
        session, options = new["sessionId"], {each["id"]: each for each in new["configOptions"]}
        assert options["thinking"]["currentValue"] == "default"
        client.ask("session/set_config_option", sessionId=session, configId="thinking", value="off")
        client.prompt(session, "one")
        changed = client.ask("session/set_config_option", sessionId=session, configId="thinking", value="default")
        assert {each["id"]: each["currentValue"] for each in changed["configOptions"]}["thinking"] == "default"
        client.prompt(session, "two")
        with pytest.raises(Failed):
            client.ask("session/set_config_option", sessionId=session, configId="nothing", value="off")
    assert [each.split(" ")[0] for each in client.text().replace("True", "True ").split()][:1] == ["1"]


def test_files_that_are_linked_and_embedded_are_in_the_message(connect: Connect, folder: Path):
    script = """SCRIPT = lambda seen: str(["return a - b" in seen.text, "of the editor" in seen.text])"""
    with connect(script) as client:
        blocks = [
            {"type": "text", "text": "what is in"},
            {"type": "resource_link", "name": "add.py", "uri": (folder / "add.py").as_uri() + "#L2:2"},
            {"type": "video", "frames": []},
            {"type": "resource", "resource": {"uri": (folder / "new.py").as_uri(), "text": "of the editor"}},
        ]
        client.ask("session/prompt", sessionId=opened(client, folder), prompt=blocks)
    note = 'A part of the message was left out: laguna-tui does not know its type "video"; update laguna-tui.'
    assert client.text() == f"\n\n_{note}_\n\n[True, True]"


def test_the_servers_of_a_client_are_used_and_what_cannot_be_used_is_named_once(connect: Connect, folder: Path):
    script = 'SCRIPT = [call("mcp__notes__echo", text="hi"), lambda seen: "saw " + seen.result[:2], "Again."]'
    servers = [
        {"name": "notes", "command": sys.executable, "args": [mcp_server.__file__], "env": []},
        {"type": "http", "name": "web", "url": "https://example.org/mcp", "headers": []},
    ]
    with connect(script) as client:
        client.permit = lambda request: "yes"
        opening = {"cwd": str(folder), "mcpServers": servers, "additionalDirectories": ["/somewhere"]}
        session = client.ask("session/new", **opening)["sessionId"]
        client.prompt(session, "say hi")
        client.prompt(session, "once more")
    assert [each["toolCall"]["title"] for each in client.asked] == ["echo of the MCP server notes"]
    assert client.text() == (
        "\n\n_The MCP server web was left out: only servers that run as a command are supported._\n\n"
        f"\n\n_These folders are ignored: /somewhere. A session is about one folder, {folder}._\n\n"
        "saw hiAgain."
    )


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/new", {"cwd": "/no/such/folder", "mcpServers": []}),
        ("session/new", {"cwd": "relative", "mcpServers": []}),
        ("session/load", {"cwd": "/", "sessionId": "none", "mcpServers": []}),
        ("session/prompt", {"sessionId": "none", "prompt": [{"type": "text", "text": "hi"}]}),
        ("session/fork", {"cwd": "/", "sessionId": "none", "mcpServers": []}),
        ("session/prompt", {}),
        ("nothing/at/all", {}),
    ],
)
@pytest.mark.sampled(3)
def test_what_cannot_be_done_is_an_error_and_not_the_end(connect: Connect, folder: Path, method: str, params: Any):
    with connect('SCRIPT = ["Fine."]') as client:
        with pytest.raises(Failed):
            client.ask(method, **params)
        client.prompt(opened(client, folder), "hi")
    assert client.text() == "Fine."


NO_MESSAGES = {
    b"[]": "The message must be a JSON object; send each message on its own line.",
    b"null": "The message must be a JSON object; send each message on its own line.",
    b"5": "The message must be a JSON object; send each message on its own line.",
    b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]': (
        "The message must be a JSON object; send each message on its own line."
    ),
    b"{": "The line is not JSON.",
    b"\xff": "The line is not JSON.",
    b"[" * 100_000: "The line is not JSON.",
    b'{"id":1,"method":5}': "The message's method must be a string.",
    b'{"id":[],"result":1}': "The message's id must be a number or a string.",
    b'{"id":{},"method":"initialize"}': "The message's id must be a number or a string.",
    b'{"id":0,"error":5}': "The response's error must be an object.",
}


def test_a_line_that_is_not_a_message_is_an_error_and_not_the_end(connect: Connect, folder: Path):
    with connect('SCRIPT = ["Fine."]') as client:
        session = opened(client, folder)
        assert {line: client.write_line(line)["message"] for line in NO_MESSAGES} == NO_MESSAGES
        client.prompt(session, "hi")
    assert client.text() == "Fine."


def test_lines_that_say_nothing_are_ignored(connect: Connect, folder: Path):
    with connect('SCRIPT = ["Fine."]') as client:
        for line in (b"", b"  ", b"{}", b'{"id":999}', b'{"id":"x","result":1}', b'{"method":"nothing"}'):
            client.write(line)
        client.prompt(opened(client, folder), "hi")
    assert client.text() == "Fine."


@pytest.mark.parametrize("editor", ["zed", "jetbrains", "toad", "harbor"])
def test_the_configuration_of_an_editor_is_printed(editor: str, capsys: pytest.CaptureFixture[str]):
    assert main(["acp", "--print", editor, "--model", "xs-2.1"]) == 0
    text = capsys.readouterr().out
    assert "acp" in text
    if editor == "toad":
        assert text.startswith("toad acp ")
        return
    entry = json.loads(text)
    target = entry["distribution"]["local"] if editor == "harbor" else entry["agent_servers"]["Laguna"]
    assert target["args"] == ["acp", "--model", "xs-2.1"]
