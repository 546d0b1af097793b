"""A client of the protocol that knows nothing of its library: lines of JSON through the pipes of a process."""

import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.scripted_model.ask import TOP, command

WAIT_S = 60.0
Answer = Callable[[dict[str, Any]], str]
"""What the user answers to a request for permission: the ID of an option, empty to cancel."""


class Failed(Exception):
    """The agent answered with an error."""


@dataclass
class PipeClient:
    """One process of the agent's. Lines of its stdout that are no JSON-RPC fail the next request."""

    process: "subprocess.Popen[bytes]"
    permit: Answer = lambda request: "no"
    updates: list[dict[str, Any]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    on_update: Callable[[dict[str, Any]], None] = lambda update: None
    beside: bool = False
    """Whether the user takes their time to answer while messages go on."""

    def __post_init__(self) -> None:
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self.unasked: queue.Queue[dict[str, Any]] = queue.Queue()
        self._number = 0
        self._wrong: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, method: str, **params: Any) -> int:
        """A request; the number by which `answer` waits for its answer."""
        self._number += 1
        self._answers[self._number] = queue.Queue()
        self._write({"id": self._number, "method": method, "params": params})
        return self._number

    def answer(self, number: int) -> dict[str, Any]:
        found = self._answers[number].get(timeout=WAIT_S)
        assert not self._wrong, self._wrong
        if "error" in found:
            raise Failed(found["error"]["message"])
        return found["result"] or {}

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        return self.answer(self.send(method, **params))

    def tell(self, method: str, **params: Any) -> None:
        self._write({"method": method, "params": params})

    def prompt(self, session: str, text: str) -> dict[str, Any]:
        return self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def text(self, kind: str = "agent_message_chunk", session: str = "") -> str:
        """The text of these updates."""
        found = (each for each in self.updates if not session or each["session"] == session)
        return "".join(each["content"]["text"] for each in found if each["sessionUpdate"] == kind)

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [each for each in self.updates if each["sessionUpdate"] == kind]

    def write_line(self, line: bytes) -> dict[str, Any]:
        """Send a line that is not a request; the error that answers it."""
        self.write(line)
        found = self.unasked.get(timeout=WAIT_S)
        assert not self._wrong, self._wrong
        return found["error"]

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def _write(self, message: dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def _permit(self, message: dict[str, Any]) -> None:
        chosen = self.permit(message["params"])
        outcome = {"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"}
        self._write({"id": message["id"], "result": {"outcome": outcome}})

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                message = json.loads(line)
                assert message["jsonrpc"] == "2.0"
            except (ValueError, KeyError, AssertionError):
                self._wrong.append(line)
                continue
            self._take(message)
        for waiting in (*self._answers.values(), self.unasked):
            waiting.put({"error": {"message": "the agent is gone"}})

    def _take(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case None if message["id"] is None:
                self.unasked.put(message)
            case None:
                self._answers[message["id"]].put(message)
            case "session/update":
                update = {**message["params"]["update"], "session": message["params"]["sessionId"]}
                self.updates.append(update)
                self.on_update(update)
            case "session/request_permission":
                self.asked.append(message["params"])
                if self.beside:
                    threading.Thread(target=self._permit, args=(message,), daemon=True).start()
                else:
                    self._permit(message)
            case other:
                self._write({"id": message["id"], "error": {"code": -32601, "message": f"no {other}"}})


def user_files(home: Path) -> dict[str, str]:
    """An environment in which the user's files are in a folder of the test's."""
    own = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "STATE", "CACHE", "DATA")}
    return {**os.environ, **own, "HOME": str(home), "PYTHONPATH": str(TOP)}


def connected(script: Path, home: Path, *flags: str) -> AbstractContextManager[PipeClient]:
    """The agent with a model that follows a script, after the greeting."""
    return running(command(script, "acp", *flags), home)


@contextmanager
def running(program: Sequence[str], home: Path) -> Iterator[PipeClient]:
    """An agent, after the greeting."""
    process = subprocess.Popen(
        program,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=user_files(home),
        cwd=home,
    )
    client = PipeClient(process)
    try:
        client.greeting = client.ask("initialize", protocolVersion=1, clientCapabilities={})  # type: ignore[attr-defined]
        yield client
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(WAIT_S) == 0
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()
