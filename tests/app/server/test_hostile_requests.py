"""What a client sends that is too large, nested too deeply or no text: it is refused, and nobody else waits for it."""

import json
import threading
from typing import Any

import pytest

from laguna_engine.llama.vocab import Vocab
from laguna_tui.server.access_control import HEADER_BYTES
from laguna_tui.server.request_body import MAX_DEPTH
from tests.app.server.serving import WAIT_S, WEATHER, Answered, Served
from tests.app.server.test_server_access import raw
from tests.scripted_model import call

CHAT, ANTHROPIC = "/v1/chat/completions", "/v1/messages"


def user(text: object) -> list[dict[str, object]]:
    return [{"role": "user", "content": text}]


def with_text(path: str, text: str) -> dict[str, object]:
    """A request that has the model read a text."""
    bodies: dict[str, dict[str, object]] = {
        "/v1/completions": {"prompt": text, "max_tokens": 1},
        "/v1/responses": {"input": text, "max_output_tokens": 1},
        "/tokenize": {"content": text},
    }
    return bodies.get(path, {"messages": user(text), "max_tokens": 1})


READERS = [
    CHAT,
    "/v1/completions",
    "/v1/responses",
    ANTHROPIC,
    "/v1/messages/count_tokens",
    "/apply-template",
    "/tokenize",
]


@pytest.mark.parametrize("path", READERS)
def test_others_are_answered_while_a_request_is_tokenized(nano: Served, path: str, monkeypatch: pytest.MonkeyPatch):
    begun, go_on = threading.Event(), threading.Event()
    encode = Vocab._encode

    def held_up(vocab: Vocab, text: str, special: bool) -> list[int]:
        begun.set()
        assert go_on.wait(WAIT_S)
        return encode(vocab, text, special)

    monkeypatch.setattr(Vocab, "_encode", held_up)
    found: list[Answered] = []
    asking = threading.Thread(target=lambda: found.append(nano.post(path, **with_text(path, "hi"))))
    asking.start()
    try:
        assert begun.wait(WAIT_S)
        assert nano.get("/health").status == 200
        assert not found
    finally:
        go_on.set()
        asking.join(WAIT_S)
    assert [each.status for each in found] == [200]


@pytest.mark.parametrize("path", READERS)
def test_a_text_that_cannot_fit_is_refused_before_it_is_tokenized(
    nano: Served, path: str, monkeypatch: pytest.MonkeyPatch
):
    tokenized: list[str] = []
    encode = Vocab._encode

    def noted(vocab: Vocab, text: str, special: bool) -> list[int]:
        tokenized.append(text)
        return encode(vocab, text, special)

    monkeypatch.setattr(Vocab, "_encode", noted)
    answered = nano.post(path, **with_text(path, "word " * 100_000))
    assert answered.status == 400
    tokens, advice = f"at least {least(nano, path)} tokens", "send less, or start the server with a larger --context."
    assert answered.body["error"]["message"] == (
        f"prompt is too long: {tokens} > 4096 maximum; {advice}"
        if path.startswith(ANTHROPIC)
        else f"The prompt ({tokens}) exceeds the available context size (4096 tokens); {advice}"
    )
    assert not tokenized


def least(server: Served, path: str) -> int:
    shared = server.slot.engine
    assert shared is not None
    more = path not in ("/v1/completions", "/tokenize")
    return 500_000 // shared.vocab.longest_piece + more


def test_many_small_messages_that_cannot_fit_are_refused(nano: Served):
    error = nano.chat(*["hi"] * 5000).body["error"]
    assert (error["type"], error["n_prompt_tokens"], error["n_ctx"]) == ("exceed_context_size_error", 5000, 4096)


def test_a_text_of_the_longest_pieces_is_not_refused(nano: Served):
    """The bound is one that no text falls below."""
    engine = nano.slot.engine
    assert engine is not None
    vocab = engine.vocab
    longest = max((vocab.piece(token) for token in range(vocab.size) if not vocab.is_control(token)), key=len)
    text = longest.decode() * 100
    answered = nano.post("/tokenize", content=text)
    assert answered.status == 200
    assert len(answered.body["tokens"]) >= len(text) // vocab.longest_piece


SURROGATE = b'"a\\ud800b"'
WITH_SURROGATE = {
    "a message": (CHAT, b'{"messages":[{"role":"user","content":%s}]}'),
    "the model's name": (CHAT, b'{"model":%s,"messages":[{"role":"user","content":"hi"}]}'),
    "a key": (CHAT, b'{%s:1,"messages":[{"role":"user","content":"hi"}]}'),
    "a part's type": (CHAT, b'{"messages":[{"role":"user","content":[{"type":%s}]}]}'),
    "a stop text": (CHAT, b'{"stop":%s,"messages":[{"role":"user","content":"hi"}]}'),
    "a tool": (CHAT, b'{"tools":[{"type":"function","function":{"name":%s}}],"messages":[{"role":"user"}]}'),
    "a schema": (CHAT, b'{"response_format":{"type":"json_object","schema":{"const":%s}},"messages":[]}'),
    "a prompt": ("/v1/completions", b'{"prompt":%s}'),
    "an input": ("/v1/responses", b'{"input":%s}'),
    "a message of Anthropic's": (ANTHROPIC, b'{"max_tokens":1,"messages":[{"role":"user","content":%s}]}'),
    "a content": ("/tokenize", b'{"content":%s}'),
    "a template": ("/apply-template", b'{"messages":[{"role":"user","content":%s}]}'),
}  # fmt: skip


@pytest.mark.parametrize("place", WITH_SURROGATE)
def test_half_a_character_is_refused(nano: Served, place: str):
    path, body = WITH_SURROGATE[place]
    answered = nano.ask("POST", path, body % SURROGATE)
    assert answered.status == 400
    sentence = "The body has a string with the lone surrogate U+D800, which is half a character; send whole characters."
    assert answered.body["error"]["message"] == sentence


@pytest.mark.parametrize("text", [b"\xff", b"\xed\xa0\x80", b"\xc0\xae"])
def test_a_body_that_is_not_utf_8_is_refused(nano: Served, text: bytes):
    answered = nano.ask("POST", CHAT, b'{"messages":[{"role":"user","content":"%s"}]}' % text)
    assert (answered.status, answered.body["error"]["message"]) == (400, "The body is not JSON.")


def test_a_whole_character_of_two_surrogates_is_read(nano: Served):
    answered = nano.ask("POST", "/apply-template", b'{"messages":[{"role":"user","content":"\\ud83d\\ude00"}]}')
    assert answered.status == 200
    assert "\N{GRINNING FACE}" in answered.body["prompt"]


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_the_deepest_nesting_is_read(nano: Served):
    body = json.dumps({"prompt": "hi", "max_tokens": 1, "ignored": 0}).replace("0", nested(MAX_DEPTH - 1))
    assert nano.ask("POST", "/v1/completions", body.encode()).status == 200


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 900, 20_000])
@pytest.mark.parametrize("place", ["arguments", "value", "body"])
def test_deep_nesting_is_refused(nano: Served, place: str, depth: int):
    call = {"function": {"name": "f", "arguments": "DEEP"}}
    said = [*user("hi"), {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "x"}]
    wanted = json.dumps({"messages": said, "ignored": "HERE"})
    deep = {
        "arguments": wanted.replace("DEEP", nested(depth)),
        "value": wanted.replace("DEEP", json.dumps({"a": 1}).replace('"', '\\"').replace("1", nested(depth))),
        "body": wanted.replace('"HERE"', nested(depth)),
    }
    answered = nano.ask("POST", CHAT, deep[place].encode())
    named = "The body" if place == "body" else "'messages[1].tool_calls[0].function.arguments'"
    assert answered.status == 400
    sentence = f"{named} is nested too deeply; nest at most {MAX_DEPTH} lists and objects."
    assert answered.body["error"]["message"] == sentence


def test_deep_nesting_is_refused_in_the_shape_of_the_api(nano: Served):
    body = (
        '{"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{"a":%s}}]}]}'
    )
    answered = nano.ask("POST", ANTHROPIC, (body % nested(20_000)).encode())
    assert (answered.status, answered.body["type"]) == (400, "error")
    assert answered.body["error"]["type"] == "invalid_request_error"


UNUSABLE: list[dict[str, object]] = [
    {"type": "nonsense"},
    {"type": "string", "pattern": "("},
    {"$ref": "#/nowhere"},
    {"type": "integer", "minimum": 10**400},
    {"not": {}},
    # Minutes of work.
    {"type": "array", "items": {"multipleOf": 999_999_999}},
    {"multipleOf": 0.1234567},
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("schema", UNUSABLE, ids=lambda schema: json.dumps(schema)[:40])
def test_a_schema_that_cannot_be_used_is_refused(nano: Served, schema: dict[str, object], stream: bool):
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    answered = nano.chat("hi", response_format=wanted, max_tokens=5, stream=stream)
    error = error_of(answered, stream)
    assert (error["code"], error["type"]) == (400, "invalid_request_error")
    assert "the JSON schema cannot be used: " in error["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_schema_that_fails_when_the_answer_begins_is_refused(
    nano: Served, monkeypatch: pytest.MonkeyPatch, stream: bool
):
    """After a stream's first event."""
    monkeypatch.setattr("laguna_engine.constrain.matcher._LEXER_FUEL", 100)
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "string", "pattern": "(ab|c){9}"}}}
    error = error_of(nano.chat("hi", response_format=wanted, max_tokens=5, stream=stream), stream)
    assert (error["code"], error["type"]) == (400, "invalid_request_error")
    assert "initial lexer configuration (grammar) too big" in error["message"]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "unclosed group"),
        ("[a", "unclosed character class"),
        ("(?=a)b", "look-around, including look-ahead and look-behind, is not supported"),
    ],
)
def test_an_invalid_regular_expression_is_refused_with_its_reason(nano: Served, pattern: str, reason: str):
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    answered = nano.chat("hi", json_schema=schema)
    assert answered.body["error"]["message"] == (
        f"the JSON schema cannot be used: regex parse error: {pattern}: {reason}; correct it, or leave that part out"
    )


def error_of(answered: Answered, stream: bool) -> Any:
    if not isinstance(answered.body, str):
        return answered.body["error"]
    assert stream
    return json.loads(answered.body.split("data: ")[-1])["error"]


def test_an_argument_s_schema_that_fails_when_the_answer_begins_is_refused(serve: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("laguna_engine.constrain.matcher._LEXER_FUEL", 100)
    schema = {"type": "string", "pattern": "(ab|c){9}"}
    tool = {
        "type": "function",
        "function": {
            **WEATHER["function"],
            "strict": True,
            "parameters": {"type": "object", "properties": {"a": schema}},
        },  # type: ignore[dict-item]
    }
    answered = serve([call("weather", a="c")]).chat("hi", tools=[tool])
    assert answered.status == 400
    assert answered.body["error"]["message"].startswith("The request's JSON schemas cannot be enforced (")


@pytest.mark.parametrize("size", [HEADER_BYTES, 100_000])
@pytest.mark.parametrize("head", ["GET /health?{} HTTP/1.1", "GET /health HTTP/1.1\r\nX-A: {}"])
def test_a_head_that_is_too_large_is_refused_even_if_it_comes_at_once(nano: Served, head: str, size: int):
    sent = f"{head.format('a' * size)}\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    answer = raw(nano, sent.encode())
    status, _, body = answer.partition(b"\r\n\r\n")
    assert status.startswith(b"HTTP/1.1 431")
    sentence = f"The request's headers are larger than {HEADER_BYTES:,} bytes; send fewer."
    assert json.loads(body)["error"]["message"] == sentence
    assert nano.get("/health").status == 200
