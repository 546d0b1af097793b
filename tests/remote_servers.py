"""The app on the screen against servers of models that are not ours, on loopback.

    python -m tests.remote_servers --python PYTHON [--model FILE.gguf]

PYTHON is an interpreter with `llama-cpp-python[server]` and `xllamacpp`. Each server is started with the model (Laguna
Nano without one), a message is sent through the TUI with all tools, and the turn is undone. What a small model says is
its own affair; what is shown is that the protocol goes through. One line a server; the exit code is 1 where one failed.
"""

import argparse
import asyncio
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import closing, suppress
from pathlib import Path

from laguna_tui.base.paths import data_root
from laguna_tui.base.settings import Settings
from laguna_tui.session.local import LocalSession
from tests.tui import pilot as patience
from tests.tui.pilot import ask, ready, running, transcript, until

PATIENCE_S = 240.0
XLLAMACPP = """
import sys, time, xllamacpp as x
p = x.CommonParams()
p.model.path, p.n_ctx, p.use_jinja, p.warmup = sys.argv[1], 4096, True, False
p.hostnames, p.port = ["127.0.0.1"], int(sys.argv[2])
server = x.Server(p)
time.sleep(3600)
"""
COMMANDS = {
    "llama-cpp-python": lambda model, port: (
        *("-m", "llama_cpp.server", "--model", model, "--n_ctx", "4096", "--host", "127.0.0.1", "--port", str(port)),
    ),
    "xllamacpp": lambda model, port: ("-c", XLLAMACPP, model, str(port)),
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    parser.add_argument("--model", default=str(data_root() / "assets/nano/laguna-nano.gguf"))
    arguments = parser.parse_args()
    # A prompt with all tools takes such a server a while on a busy machine.
    patience.PATIENCE_S = PATIENCE_S
    failed = 0
    for name, command in COMMANDS.items():
        try:
            said = against(arguments.python, command, arguments.model)
        except Exception as error:
            failed, said = 1, f"FAILED: {type(error).__name__}: {error}"
        print(f"{name}: {said}", flush=True)
    return failed


def against(python, command, model) -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen([python, *command(model, port)], stdout=log, stderr=log)
        try:
            wait_for(server, port)
            with tempfile.TemporaryDirectory() as folder:
                return asyncio.run(converse(Path(folder), port))
        except Exception:
            log.seek(0)
            sys.stderr.write(log.read()[-3000:].decode("utf-8", "replace"))
            raise
        finally:
            server.terminate()
            server.wait(30)


def wait_for(server, port) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and server.poll() is None:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5):
            return
        time.sleep(0.5)
    raise RuntimeError("the server did not come up")


async def converse(folder: Path, port: int) -> str:
    (folder / "shop").mkdir()
    (folder / "shop" / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    settings = Settings(model=f"http://127.0.0.1:{port}/v1", scorer="none", max_tokens=48, context=4096)
    with closing(LocalSession.prepare(settings, folder / "shop", folder / "state")) as session:
        async with running(session, size=(100, 40)) as (app, pilot):
            await ready(app, pilot)
            backend = session.slot.backend
            await ask(app, pilot, "What does total do?")
            await until(pilot, lambda: bool(session.parts.agent.conversation.said()))
            turns = len(session.parts.agent.conversation.said())
            shown = transcript(app)
            await ask(app, pilot, "/undo")
            await until(pilot, lambda: len(session.parts.agent.conversation.said()) < turns)
            answers = [line for line in shown.splitlines() if line.strip()][-3:]
            return f"model {backend.model}, {backend.n_ctx} tokens of context; {turns} messages, undone; {answers}"


if __name__ == "__main__":
    sys.exit(main())
