"""An OpenAI-compatible endpoint on loopback that answers as a test wants, also wrongly.

    with endpoint([answer("Hello."), dies("Hel"), status(429, retry_after=3)]) as served:
        settings = Settings(model=f"{served.url}#scripted")

Each request for a chat gets the next response; after the last one it is answered "The script is over.". What was asked
is in `served.asked`, and with which headers in `served.headers`.
"""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "scripted"
OVER = "The script is over."
Response = Callable[["Chat"], None]


@dataclass
class Served:
    """A running endpoint. context: what it says of its model; None says nothing."""

    script: list[Response]
    url: str = ""
    context: int | None = 16384
    key: str = ""
    models: Sequence[str] = (MODEL,)
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    otherwise: Callable[[dict[str, Any]], Response] = lambda body: answer(OVER)
    """What a request gets after the script."""
    metrics: Callable[[], str] = lambda: ""
    """The text of /metrics; without one there is none."""
    listing: bytes = b""
    """What it sends in place of its list of models."""
    gone: Callable[[], None] = lambda: None
    """Ends it before the block does."""

    def next(self, body: dict[str, Any], headers: dict[str, str]) -> Response:
        with self.lock:
            self.asked.append(body)
            self.headers.append(headers)
            return self.script.pop(0) if self.script else self.otherwise(body)


class Chat(BaseHTTPRequestHandler):
    """One request, and the ways to answer it."""

    protocol_version = "HTTP/1.1"
    served: Served
    # Small writes are sent at once.
    disable_nagle_algorithm = True

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        if not self._allowed():
            return
        if self.path.endswith("/models") and self.served.listing:
            self.send_json(200, self.served.listing)
        elif self.path.endswith("/models"):
            more = {} if self.served.context is None else {"max_model_len": self.served.context}
            self.json(200, {"object": "list", "data": [{"id": name, **more} for name in self.served.models]})
        elif self.path == "/metrics" and (text := self.served.metrics()):
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())
        else:
            self.json(404, {"error": {"message": "not found"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self._allowed():
            return
        with suppress(OSError):
            self.served.next(body, dict(self.headers))(self)

    def _allowed(self) -> bool:
        if self.served.key and self.headers.get("Authorization") != f"Bearer {self.served.key}":
            # As some do, it repeats what it was given.
            self.json(401, {"error": {"message": f"wrong key {self.headers.get('Authorization')}"}})
            return False
        return True

    def json(self, code: int, value: Any, **headers: str) -> None:
        self.send_json(code, json.dumps(value).encode(), **headers)

    def send_json(self, code: int, data: bytes, **headers: str) -> None:
        """JSON as it is sent."""
        self.send_response(code)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(data)

    def begin(self, kind: str = "text/event-stream") -> None:
        """Begin a stream, whose end is that of the connection unless `whole` ends it."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def raw(self, data: bytes) -> None:
        """A chunk as it is."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def piece(self, delta: dict[str, Any], finish: str | None = None) -> None:
        """A piece of the answer."""
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        self.event({"object": "chat.completion.chunk", "choices": [choice]})

    def event(self, value: Any) -> None:
        self.raw(b"data: " + json.dumps(value).encode() + b"\n\n")

    def whole(self, finish: str = "stop", usage: dict[str, Any] | None = None) -> None:
        """End the answer in order."""
        self.piece({}, finish)
        if usage is not None:
            self.event({"choices": [], "usage": usage})
        self.raw(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def die(self) -> None:
        """Close the connection in the middle."""
        self.close_connection = True
        self.connection.close()


def tool(name: str, arguments: Any, index: int = 0) -> dict[str, Any]:
    """A call of a tool. arguments: an object, or the text in its place."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"index": index, "id": f"c{index}", "type": "function", "function": {"name": name, "arguments": text}}


def answer(
    text: str = "", *calls: dict[str, Any], thought: str = "", usage: dict[str, Any] | None = None, under: str = ""
) -> Response:
    """An answer in order, in small pieces. under: the name of the thinking."""

    def respond(chat: Chat) -> None:
        chat.begin()
        chat.raw(b": keep-alive\n\n")
        chat.piece({"role": "assistant", "content": ""})
        for at in range(0, len(thought), 5):
            chat.piece({under or "reasoning_content": thought[at : at + 5]})
        for at in range(0, len(text), 5):
            chat.piece({"content": text[at : at + 5]})
        for call in calls:
            written = call["function"]["arguments"]
            chat.piece({"tool_calls": [{**call, "function": {**call["function"], "arguments": ""}}]})
            for at in range(0, len(written), 7):
                part = {"index": call["index"], "function": {"arguments": written[at : at + 7]}}
                chat.piece({"tool_calls": [part]})
        counted = {"prompt_tokens": 100, "completion_tokens": 7} if usage is None else usage
        chat.whole("tool_calls" if calls else "stop", counted)

    return respond


def whole(text: str, prompt: Sequence[int] = (), tokens: Sequence[int] | None = None) -> Response:
    """An answer that does not stream. prompt, tokens: their ids, as vLLM gives them where it is asked to."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    value: dict[str, Any] = {"usage": {"prompt_tokens": 9, "completion_tokens": 4}}
    if tokens is not None:
        value, choice = {**value, "prompt_token_ids": list(prompt)}, {**choice, "token_ids": list(tokens)}
    return lambda chat: chat.json(200, {"object": "chat.completion", "choices": [choice], **value})


def dies(text: str) -> Response:
    """The beginning of an answer, after which the connection is closed."""

    def respond(chat: Chat) -> None:
        chat.begin()
        chat.piece({"content": text})
        chat.die()

    return respond


def waits(text: str, go: threading.Event) -> Response:
    """The beginning of an answer, and the rest once a test says so."""

    def respond(chat: Chat) -> None:
        chat.begin()
        chat.piece({"content": text})
        go.wait(60)
        chat.piece({"content": " And on."})
        chat.whole()

    return respond


def status(code: int, message: str = "no", **headers: str) -> Response:
    """An error. headers: with `_` for `-`."""
    return lambda chat: chat.json(code, {"error": {"message": message}}, **headers)


def sends(data: bytes, kind: str = "text/event-stream") -> Response:
    """Bytes, and an end in order."""

    def respond(chat: Chat) -> None:
        chat.begin(kind)
        chat.raw(data)
        chat.wfile.write(b"0\r\n\r\n")

    return respond


@contextmanager
def endpoint(script: Sequence[Response] = (), port: int = 0, **more: Any) -> Iterator[Served]:
    """An endpoint while the block runs. port: 0 for any that is free."""
    served = Served(list(script), **more)
    server = ThreadingHTTPServer(("127.0.0.1", port), type("Scripted", (Chat,), {"served": served}))
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()

    def end() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    served.gone = end
    try:
        yield served
    finally:
        end()
