"""Limits of an answer's tokens, and what a client reads of them."""

from typing import Any

import anthropic
import openai
import pytest

from laguna_tui.server.http_app import Timing
from laguna_tui.server.http_server import ServerOptions
from tests.app.server.serving import Served
from tests.scripted_model import say

LONG = " ".join(f"word{number}" for number in range(3000))


def tokens_of(server: Served, **wanted: Any) -> list[int]:
    """How many tokens each path generates."""
    chat = [{"role": "user", "content": "hi"}]
    limit = {"max_output_tokens": wanted["max_tokens"]} if "max_tokens" in wanted else {}
    bodies = (
        server.post("/v1/chat/completions", messages=chat, **wanted),
        server.post("/v1/completions", prompt="hi", **wanted),
        server.post("/v1/responses", input="hi", **limit),
        server.post("/v1/messages", messages=chat, **{"max_tokens": 100, **wanted}),
    )
    usages = [answered.body["usage"] for answered in bodies]
    return [usage.get("completion_tokens", usage.get("output_tokens")) for usage in usages]


def test_the_server_s_limit_counts_for_every_answer(serve: Any):
    server = serve(lambda seen: say("word " * 50), max_tokens=5)
    assert tokens_of(server) == [5] * 4
    assert tokens_of(server, max_tokens=100) == [5] * 4
    assert tokens_of(server, max_tokens=-1) == [5] * 4
    assert tokens_of(server, max_tokens=3) == [3] * 4


def test_no_tokens_are_generated_and_billed_for_a_limit_of_none(nano: Served):
    assert tokens_of(nano, max_tokens=0) == [0] * 4
    choice = nano.chat("hello", max_tokens=0).body["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("", "length")


def test_a_limit_of_zero_only_reads_the_prompt(serve: Any):
    server = serve(lambda seen: "ok")
    read = server.chat(LONG[:4000], max_tokens=0).body["usage"]["prompt_tokens"]
    usage = server.chat(LONG[:4000]).body["usage"]
    assert (usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]) == (read, read - 1)


ADVICE = "send less, or start the server with a larger --context."


@pytest.mark.parametrize("stream", [False, True])
def test_libraries_see_that_a_prompt_is_too_long(nano: Served, stream: bool):
    client = openai.OpenAI(api_key=nano.token, base_url=f"{nano.url}/v1", max_retries=0)
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="any", messages=[{"role": "user", "content": LONG}], stream=stream)
    assert refused.value.code == "context_length_exceeded"
    error: Any = refused.value.body
    tokens, n_ctx = error["n_prompt_tokens"], error["n_ctx"]
    assert error["message"] == (
        f"The prompt ({tokens} tokens) exceeds the available context size ({n_ctx} tokens); {ADVICE}"
    )
    other = anthropic.Anthropic(api_key=nano.token, base_url=nano.url, max_retries=0)
    with pytest.raises(anthropic.BadRequestError) as too_long:
        said: Any = [{"role": "user", "content": LONG}]
        other.messages.create(model="any", max_tokens=5, messages=said, stream=stream)
    body: Any = too_long.value.body
    assert body["error"]["message"] == f"prompt is too long: {tokens} tokens > {n_ctx} maximum; {ADVICE}"


def test_a_message_begins_with_its_real_tokens(serve: Any):
    server = serve(lambda seen: "ok")
    wanted = {"max_tokens": 20, "messages": [{"role": "user", "content": LONG[:4000]}]}
    for _ in range(2):
        events = server.named_events("/v1/messages", **wanted)
        names = [name for name, _ in events]
        assert names[:2] == ["message_start", "ping"]
        begun, ended = events[0][1]["message"]["usage"], events[-2][1]["usage"]
        counts = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        assert [begun[name] for name in counts] == [ended[name] for name in counts]
        assert begun["output_tokens"] == 0
    assert begun["input_tokens"] == 1
    assert begun["cache_read_input_tokens"] > 500


def test_comments_come_before_a_message_that_waits_begins(serve: Any):
    server = serve(["ok"], ServerOptions(port=0, timing=Timing(keep_alive_s=0.0001)))
    wanted = {"max_tokens": 20, "messages": [{"role": "user", "content": LONG[:12000]}], "stream": True}
    text = server.ask("POST", "/v1/messages", wanted).body
    assert text.index(": keep-alive") < text.index("event: message_start")
