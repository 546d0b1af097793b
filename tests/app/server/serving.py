"""A server with a model of its own, and what a client without any library does with it."""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from laguna_engine.config import Speculation
from laguna_tui.base.settings import Settings
from laguna_tui.models.model_selection import select_model
from laguna_tui.server.http_server import HttpServer, ServerOptions
from laguna_tui.session.engine_slot import EngineSlot
from laguna_tui.session.shared_model import shared_model
from tests.scripted_model import scripted_file

NANO = "nano"
WAIT_S = 60.0


@dataclass
class Answered:
    """A status with headers and the JSON or the text of the body."""

    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass
class Served:
    """A running server."""

    server: HttpServer
    slot: EngineSlot
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def port(self) -> int:
        return int(self.server.url.rpartition(":")[2])

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def token(self) -> str:
        return self.server.token

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str | None] | None = None
    ) -> Answered:
        """One request; a header of None is left out."""
        connection = self.connection()
        try:
            connection.request(method, path, _encoded(body), self._all(headers))
            response = connection.getresponse()
            text = response.read().decode()
            kind = response.headers.get("content-type", "")
            return Answered(response.status, dict(response.headers), json.loads(text) if "json" in kind else text)
        finally:
            connection.close()

    @contextmanager
    def streaming(self, prompt: str, **body: Any) -> Iterator[http.client.HTTPResponse]:
        """A continuation of a text as long as the context, whose first event has come; it is left at the end."""
        connection = self.connection()
        wanted = {"prompt": prompt, "stream": True, **body}
        try:
            connection.request("POST", "/v1/completions", _encoded(wanted), self._all(None))
            # The response has the socket from here on, and closes it.
            with connection.getresponse() as response:
                response.readline()
                yield response
        finally:
            connection.close()

    def get(self, path: str) -> Answered:
        return self.ask("GET", path)

    def post(self, path: str, **body: Any) -> Answered:
        return self.ask("POST", path, body)

    def events(self, path: str, **body: Any) -> list[Any]:
        """The data of a stream's events, without the mark of its end."""
        return [event for _, event in self.named_events(path, **body)]

    def named_events(self, path: str, **body: Any) -> list[tuple[str, Any]]:
        answered = self.ask("POST", path, {**body, "stream": True})
        assert answered.status == 200, answered.body
        return parsed_events(answered.body)

    def chat(self, *said: str | dict[str, Any], **more: Any) -> Answered:
        """A chat; texts are the user's."""
        return self.post("/v1/chat/completions", messages=_messages(said), **more)

    def chat_events(self, *said: str | dict[str, Any], **more: Any) -> list[Any]:
        return self.events("/v1/chat/completions", messages=_messages(said), **more)

    def metrics(self) -> dict[str, float]:
        """The figures without labels."""
        lines = [line for line in self.get("/metrics").body.splitlines() if not line.startswith("#")]
        pairs = [line.rsplit(" ", 1) for line in lines]
        return {name.removeprefix("laguna_tui_"): float(value) for name, value in pairs}

    def _all(self, headers: Mapping[str, str | None] | None) -> dict[str, str]:
        own: dict[str, str | None] = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return {name: value for name, value in (own | dict(headers or {})).items() if value is not None}


def parsed_events(text: str) -> list[tuple[str, Any]]:
    """Names and data of server-sent events, comments and the mark of the end left out."""
    found = []
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        fields = dict(line.split(": ", 1) for line in lines)
        if fields.get("data", "[DONE]") != "[DONE]":
            found.append((fields.get("event", ""), json.loads(fields["data"])))
    return found


def _messages(said: tuple[str | dict[str, Any], ...]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": each} if isinstance(each, str) else each for each in said]


def _encoded(body: Any) -> bytes | None:
    return body if body is None or isinstance(body, bytes) else json.dumps(body).encode()


@contextmanager
def served(model: Path | str, options: ServerOptions | None = None, **settings: Any) -> Iterator[Served]:
    """Serve a model of the catalogue or a file on a free port."""
    wanted = Settings().merged({"threads": 1, "scorer": "none", **settings, "model": str(model)})
    slot = EngineSlot(select_model(wanted), Speculation(wanted.speculation), None, lambda engine, selection: None)
    server = HttpServer(lambda: shared_model(slot), options or ServerOptions(port=0))
    try:
        slot.open(lambda progress: None)
        server.start()
        yield Served(server, slot)
    finally:
        server.stop()
        slot.close()


@contextmanager
def scripted(folder: Path, script: Any, options: ServerOptions | None = None, **settings: Any) -> Iterator[Served]:
    """Serve a model that follows a script."""
    file = scripted_file(folder / "scripted.gguf", script)
    with served(file, options, **{"context": 8192, "thinking": False, **settings}) as found:
        yield found


WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}
"""A tool in OpenAI's shape."""
