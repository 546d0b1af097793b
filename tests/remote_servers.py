"""The whole agent loop against servers of models that are not ours, on loopback: by the screen and by `ask`.

    python -m tests.remote_servers --python PYTHON [--only NAME]

PYTHON is an interpreter with `llama-cpp-python[server]` and `xllamacpp`. Each server is started with a model file that
answers as it was written down (`tests/answering_model.py`), so that the loop has an end that can be checked: a question
is answered, an edit is allowed by a key and made, a command is allowed and run, its result is read, the edit is undone.
llama.cpp's server, as in xllamacpp, gives calls as calls; llama-cpp-python's gives them as text. `failing` is an
endpoint of our own that writes a torn call, dies in the middle of the answer, is away and comes back. One line a server
and way; the exit code is 1 where one failed.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path

from laguna_tui.base.settings import Settings
from laguna_tui.session.session import Session
from tests.agent_tasks.by_screen import SIZE, RecordedChat, Screen
from tests.answering_model import answering_file, call_text
from tests.app.acp.pipe_client import user_files
from tests.scripted_endpoint import answer, dies, endpoint, tool
from tests.scripted_model import Script
from tests.tui import pilot as patience
from tests.tui.pilot import ready, running, until

PATIENCE_S = 240.0
CONTEXT = 16_384
BEFORE, AFTER = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"
EDIT = {"path": "add.py", "old": "a - b", "new": "a + b"}
RUN = {"cmd": "cat add.py"}
QUESTION, SUBTRACTS, ADDS = "what does add do?", "It subtracts.", "It adds now."
LOOP = [call_text("edit", **EDIT), call_text("shell", **RUN), ADDS]

XLLAMACPP = """
import sys, time, xllamacpp as x
p = x.CommonParams()
p.model.path, p.n_ctx, p.use_jinja, p.warmup = sys.argv[1], int(sys.argv[3]), True, False
p.hostnames, p.port = ["127.0.0.1"], int(sys.argv[2])
server = x.Server(p)
time.sleep(3600)
"""
Command = Callable[[str, int], Sequence[str]]
SERVERS: dict[str, Command] = {
    "llama-cpp-python": lambda model, port: (
        *("-m", "llama_cpp.server", "--model", model, "--n_ctx", str(CONTEXT), "--host", "127.0.0.1"),
        *("--port", str(port)),
    ),
    "xllamacpp": lambda model, port: ("-c", XLLAMACPP, model, str(port), str(CONTEXT)),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--only", choices=(*SERVERS, "failing"))
    arguments = parser.parse_args()
    # A prompt with all tools takes such a server a while on a busy machine.
    patience.PATIENCE_S = PATIENCE_S
    shows: dict[str, Callable[[Path], str]] = {"failing, on the screen": by_screen_with_failures}
    for name, command in SERVERS.items():
        shows[f"{name}, on the screen"] = served_show(arguments.python, command, [SUBTRACTS, *LOOP], by_screen)
        shows[f"{name}, by ask"] = served_show(arguments.python, command, LOOP, by_ask)
    failed = 0
    for name, show in shows.items():
        if arguments.only is not None and not name.startswith(arguments.only):
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                said = show(Path(folder))
        except Exception as error:
            failed, said = 1, f"FAILED: {type(error).__name__}: {error}"
        print(f"{name}: {said}", flush=True)
    return failed


def served_show(
    python: str, command: Command, answers: Sequence[str], way: Callable[[Path, str], str]
) -> Callable[[Path], str]:
    """Goes one way with a server's model that gives these answers."""

    def show(folder: Path) -> str:
        with serving(python, command, str(answering_file(folder / "answering.gguf", answers))) as url:
            return way(folder, url)

    return show


@contextmanager
def serving(python: str, command: Command, model: str) -> Iterator[str]:
    """A server of the model; its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen([python, *command(model, port)], stdout=log, stderr=log)
        try:
            wait_for(server, port)
            yield f"http://127.0.0.1:{port}/v1"
        except Exception:
            log.seek(0)
            sys.stderr.write(log.read()[-3000:].decode("utf-8", "replace"))
            raise
        finally:
            # xllamacpp takes the wish to end for its own.
            server.kill()
            server.wait()


def wait_for(server: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and server.poll() is None:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5):
            return
        time.sleep(0.5)
    raise RuntimeError("the server did not come up")


def project(folder: Path) -> Path:
    """A folder with one file, which has a mistake."""
    made = folder / "shop"
    made.mkdir()
    (made / "add.py").write_text(BEFORE)
    return made


@asynccontextmanager
async def screen_of(folder: Path, url: str) -> AsyncIterator[Screen]:
    """The app on the endpoint's model, about the project."""
    shop = project(folder)
    # Until a user says otherwise, an endpoint that does not say how much context it has gets little.
    settings = Settings(model=url, scorer="none", context=CONTEXT)
    with closing(Session(settings, shop, folder / "state")) as session:
        session.chat = RecordedChat(session.chat)  # type: ignore[assignment]
        async with running(session, size=SIZE) as (app, pilot):  # type: ignore[arg-type]
            await ready(app, pilot)
            yield Screen(app, pilot, session, Script([]), shop)


def by_screen(folder: Path, url: str) -> str:
    """A question, then an edit and a command that are allowed by keys, the answer, and undo."""

    async def converse() -> str:
        async with screen_of(folder, url) as screen:
            await screen.ask(QUESTION)
            assert SUBTRACTS in screen.transcript, screen.transcript
            await screen.send("then fix it")
            await allow_both(screen)
            await until(screen.pilot, lambda: screen.turns == 2)
            assert ADDS in screen.transcript, screen.transcript
            assert "<tool_call>" not in screen.transcript
            await undone(screen)
            backend = screen.session.slot.backend
            assert backend is not None
            calls = ", ".join(call.name for call in screen.outcome().calls)
            return f"answered, {calls} allowed and run, answered, undone; {backend.n_ctx:,} tokens of context"

    return asyncio.run(converse())


async def allow_both(screen: Screen) -> None:
    """Allow the edit and the command, and see what they did."""
    assert "return a + b" in await screen.answer("y")
    assert RUN["cmd"] in await screen.answer("y")
    await until(screen.pilot, lambda: any(call.name == "shell" for call in screen.outcome().calls))
    assert (screen.folder / "add.py").read_text() == AFTER
    output = next(call.output for call in screen.outcome().calls if call.name == "shell")
    assert "a + b" in output, output


async def undone(screen: Screen) -> None:
    """Take the turn back."""
    await ready(screen.app, screen.pilot)
    await screen.send("/undo")
    await until(screen.pilot, lambda: (screen.folder / "add.py").read_text() == BEFORE)


def by_ask(folder: Path, url: str) -> str:
    """The same by the command line, with the edit and the command allowed by rules."""
    shop, home = project(folder), folder / "home"
    home.mkdir()
    rules = ["--mode", "accept-edits", "--allow", "shell(cat …)", "--context", str(CONTEXT), "--scorer", "none"]
    line = [sys.executable, "-m", "laguna_tui", "ask", "--stream-json", "--folder", str(shop), "--model", url, *rules]
    done = subprocess.run(
        [*line, "fix add"], env=user_files(home), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, (done.returncode, done.stdout[-1500:], done.stderr)
    events = [json.loads(row) for row in done.stdout.splitlines()]
    finished = [event for event in events if event["type"] == "tool_finished"]
    assert [(event["name"], event["ok"]) for event in finished] == [("edit", True), ("shell", True)], finished
    assert "a + b" in finished[1]["output"]
    assert (shop / "add.py").read_text() == AFTER
    text = "".join(event["text"] for event in events if event["type"] == "text_delta")
    assert text == ADDS, text
    return f"{', '.join(event['name'] for event in finished)} run, answered {text!r}"


def by_screen_with_failures(folder: Path) -> str:
    """The same loop with an endpoint that fails at every step of it."""
    first = [
        answer(SUBTRACTS),
        answer("", tool("edit", '{"path": "add.py", "old"')),
        answer("", tool("edit", EDIT)),
        answer("", tool("shell", RUN)),
        dies("It ad"),
    ]

    async def converse() -> str:
        with endpoint(first) as served:
            port = int(served.url.rsplit(":", 1)[1].removesuffix("/v1"))
            async with screen_of(folder, served.url) as screen:
                await screen.ask(QUESTION)
                await screen.send("then fix it")
                await allow_both(screen)
                await said(screen, "was lost in the middle of the answer")
                served.gone()
                await ready(screen.app, screen.pilot)
                await screen.send("/retry")
                await said(screen, "Cannot connect")
                await ready(screen.app, screen.pilot)
                with endpoint([answer("ds now.")], port=port) as back:
                    await screen.send("/retry")
                    await said(screen, "ds now.")
                    await ready(screen.app, screen.pilot)
                    (last,) = back.asked
                kept = [each["content"] for each in last["messages"] if each["role"] == "assistant"]
                assert "It ad" in kept, kept
                assert len(served.asked) == len(first), "nothing was sent twice"
                return "torn call made again, edit and command run, dead in mid-answer, away, back by /retry"

    return asyncio.run(converse())


async def said(screen: Screen, words: str) -> None:
    """Wait until the screen said so."""
    await until(screen.pilot, lambda: words in " ".join(screen.transcript.split()))


if __name__ == "__main__":
    os.environ.pop("LAGUNA_API_KEY", None)
    sys.exit(main())
