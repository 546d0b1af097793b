"""What a path does not use is refused if it would change the answer, passed if not, and named in the log if unknown."""

import json
from pathlib import Path
from typing import Any

import pytest

from laguna_tui.server.http_server import HttpServer, ServerOptions
from laguna_tui.server.request_body import HINTS, UNUSED
from laguna_tui.session.shared_model import shared_model
from tests.app.server.serving import Served
from tests.scripted_model import say

CHAT, TEXT, RESPONSES, ANTHROPIC = "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"
SCHEMA = {"const": "held"}


def least(path: str) -> dict[str, Any]:
    """The smallest request of a path."""
    messages = [{"role": "user", "content": "hi"}]
    bodies: dict[str, dict[str, Any]] = {
        CHAT: {"messages": messages, "max_tokens": 1},
        TEXT: {"prompt": "hi", "max_tokens": 1},
        RESPONSES: {"input": "hi", "max_output_tokens": 1},
        ANTHROPIC: {"messages": messages, "max_tokens": 1},
    }
    return bodies[path]


FORM: dict[str, Any] = {
    "guided_json": SCHEMA,
    "guided_regex": "a+",
    "guided_choice": ["a", "b"],
    "guided_grammar": 'root ::= "a"',
    "structured_outputs": {"regex": "a+"},
    "grammar": 'root ::= "a"',
}
CHANCES: dict[str, Any] = {
    "frequency_penalty": 0.5,
    "presence_penalty": -0.5,
    "logit_bias": {"5": 10},
    "min_tokens": 5,
    "stop_token_ids": [2],
    "ignore_eos": True,
    "n": 2,
}
SPECIAL = {
    CHAT: {
        "functions": [{"name": "f"}],
        "function_call": {"name": "f"},
        "modalities": ["text", "audio"],
        "audio": {"voice": "a", "format": "wav"},
        "web_search_options": {},
        "top_logprobs": 3,
        "add_generation_prompt": False,
        "chat_template": "{{ messages }}",
    },
    TEXT: {"echo": True, "suffix": "end", "best_of": 3, "n_probs": 3},
    RESPONSES: {
        "background": True,
        "conversation": "conv_1",
        "previous_response_id": "resp_1",
        "max_tool_calls": 3,
        "prompt": {"id": "pmpt_1"},
        "top_logprobs": 3,
        "include": ["message.output_text.logprobs"],
        "response_format": {"type": "json_object"},
    },
    ANTHROPIC: {
        "container": "container_1",
        "mcp_servers": [{"type": "url", "url": "https://example.org", "name": "a"}],
        "response_format": {"type": "json_object"},
    },
}
REFUSED = [(path, name, value) for path, own in SPECIAL.items() for name, value in {**FORM, **CHANCES, **own}.items()]


@pytest.mark.parametrize(("path", "name", "value"), REFUSED, ids=lambda value: str(value)[:30])
def test_an_unsupported_field_that_changes_the_answer_is_refused_by_name(
    nano: Served, path: str, name: str, value: Any
):
    answered = nano.post(path, **least(path), **{name: value})
    assert answered.status == 400
    error = answered.body["error"]
    assert f"'{name}' must be " in error["message"]
    assert error.get("param", name) == name


def test_a_refusal_explains_what_the_server_does_instead(nano: Served):
    error = nano.chat("hi", frequency_penalty=1).body["error"]
    assert error["message"] == (
        "'frequency_penalty' must be left out: this server does not change single tokens' probabilities; use "
        "temperature, top_k, top_p, min_p or repeat_penalty."
    )


NEUTRAL: dict[str, Any] = {name: neutral[0] if neutral else None for name, (neutral, _) in UNUSED.items()}
HINTED = {
    "user": "u",
    "metadata": {"a": "b"},
    "store": True,
    "service_tier": "auto",
    "prompt_cache_key": "k",
    "truncation": "auto",
}


@pytest.mark.parametrize("path", [CHAT, TEXT, RESPONSES, ANTHROPIC])
def test_hints_and_neutral_values_pass(nano: Served, path: str):
    # A prompt is what completions are about, and no path takes the empty text for a schema.
    neutral = {name: value for name, value in NEUTRAL.items() if name not in ("prompt", "json_schema")}
    neutral |= {"response_format": None, "logprobs": None, "top_logprobs": None, "output_format": None}
    answered = nano.post(path, **{**neutral, **HINTED, **least(path)})
    assert answered.status == 200, answered.body
    nulls = dict.fromkeys([*UNUSED, *HINTS])
    assert nano.post(path, **{**nulls, **least(path)}).status == 200


def test_unknown_names_pass_and_are_logged_once(nano: Served):
    logged: list[str] = []
    server = HttpServer(lambda: shared_model(nano.slot), ServerOptions(port=0), logged.append)
    server.start()
    try:
        other = Served(server, nano.slot)
        for _ in range(2):
            assert other.chat("hi", max_tokens=1, zeal=3, another={}, user="u").status == 200
        assert other.post(TEXT, **least(TEXT), zeal=3).status == 200
        assert other.chat("hi", max_tokens=1, **{f"name{number}": 1 for number in range(1000)}).status == 200
    finally:
        server.stop()
    assert logged[:2] == [f"{CHAT} does not use: another, zeal", f"{TEXT} does not use: zeal"]
    assert len(logged) == 3
    assert logged[2].count("name") == 197


@pytest.mark.parametrize(
    "held",
    [
        {"json_schema": SCHEMA},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}},
    ],
)
def test_a_completion_is_held_to_a_schema(nano: Served, held: dict[str, Any]):
    found = nano.post(TEXT, prompt="hi", max_tokens=60, **held).body["choices"][0]
    assert json.loads(found["text"]) == "held"
    assert found["finish_reason"] == "stop"


@pytest.mark.parametrize("held", [{"output_config": {"format": {}}}, {"output_format": {}}])
def test_a_message_of_anthropic_s_is_held_to_a_schema(nano: Served, held: dict[str, Any]):
    form = {"type": "json_schema", "schema": SCHEMA}
    wanted = (
        {"output_format": form} if "output_format" in held else {"output_config": {"format": form, "effort": "low"}}
    )
    body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 60}
    (block,) = nano.post(ANTHROPIC, **body, **wanted).body["content"]
    assert json.loads(block["text"]) == "held"


BAD_SCHEMA = {"type": "nonsense"}


@pytest.mark.parametrize(
    ("path", "held", "place"),
    [
        (CHAT, {"response_format": {"type": "json_object", "schema": BAD_SCHEMA}}, "response_format"),
        (CHAT, {"json_schema": BAD_SCHEMA}, "json_schema"),
        (TEXT, {"json_schema": BAD_SCHEMA}, "json_schema"),
        (RESPONSES, {"text": {"format": {"type": "json_schema", "schema": BAD_SCHEMA}}}, "text.format"),
        (RESPONSES, {"text": {"format": {"type": "json_schema"}}}, "text.format.schema"),
    ],
)
def test_an_unusable_schema_is_reported_with_its_field(nano: Served, path: str, held: Any, place: str):
    answered = nano.post(path, **least(path), **held)
    assert (answered.status, answered.body["error"]["param"]) == (400, place)


@pytest.mark.parametrize("kind", ["item_reference", "compaction", "nonsense"])
def test_items_that_stand_for_what_is_stored_elsewhere_are_refused(nano: Served, kind: str):
    answered = nano.post(RESPONSES, input=[{"type": kind, "id": "msg_1"}])
    error = answered.body["error"]
    assert (answered.status, error["param"]) == (400, "input[0].type")
    reason = f"this server stores nothing, and does not read '{kind}'"
    assert error["message"] == f"'input[0].type' must be left out: {reason}."


def test_calls_of_custom_tools_are_read(serve: Any):
    server = serve(lambda seen: f"It said {seen.result}." if "sed -i" in seen.text else "nothing")
    items = [
        {"role": "user", "content": "fix it"},
        {"type": "custom_tool_call", "call_id": "1", "name": "patch", "input": "sed -i s/a/b/ x"},
        {"type": "custom_tool_call_output", "call_id": "1", "output": "done"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
    ]
    found = server.post(RESPONSES, input=items).body
    assert found["output"][0]["content"][0]["text"] == "It said done."


def test_both_names_of_the_penalty_count(nano: Served):
    wanted = {"prompt": "a a a a a a", "max_tokens": 24, "temperature": 0}
    texts = [
        nano.post(TEXT, **wanted, **more).body["choices"][0]["text"]
        for more in ({}, {"repeat_penalty": 1.8}, {"repetition_penalty": 1.8})
    ]
    assert texts[0] != texts[1] == texts[2]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (CHAT, {}, "'messages' cannot be read: it is missing."),
        (CHAT, {"messages": [{}]}, "'messages[0].role' cannot be read: it is missing."),
        (CHAT, {"messages": []}, "'messages' cannot be read: expected `array` of length >= 1."),
        (CHAT, {"temperature": "hot"}, "'temperature' cannot be read: expected `float | null`, got `str`."),
        (CHAT, {"max_tokens": 1.5}, "'max_tokens' cannot be read: expected `int | null`, got `float`."),
        (CHAT, {"top_p": 2}, "'top_p' cannot be read: expected `float` <= 1.0."),
        (CHAT, {"stop": ["a", 5]}, "'stop[1]' cannot be read: expected `str`, got `int`."),
        (RESPONSES, {"input": [{"role": "nobody"}]}, "'input[0].role' must be user, assistant, system or developer."),
        (ANTHROPIC, {"max_tokens": None}, "'max_tokens' must be given."),
    ],
)
def test_a_malformed_field_is_reported_with_its_place(nano: Served, path: str, body: Any, message: str):
    wanted = {**least(path), **body} if body else {"max_tokens": 1}
    assert nano.post(path, **wanted).body["error"]["message"] == message


def test_null_is_the_same_as_a_missing_field(nano: Served):
    chat = [{"role": "user", "content": [{"type": None, "text": "hi", "refusal": None}], "tool_calls": None}]
    tools = [{"type": None, "function": {"name": "f", "description": None, "parameters": None, "strict": None}}]
    form = {"type": None, "json_schema": None}
    assert nano.post(CHAT, messages=chat, tools=tools, response_format=form, max_tokens=1).status == 200
    items = [{"type": None, "role": "user", "content": "hi", "output": None}]
    assert nano.post(RESPONSES, input=items, text={"format": None}, max_output_tokens=1).status == 200
    blocks = [{"role": "user", "content": [{"type": None, "text": "hi", "input": None}]}]
    own = [{"name": "f", "description": None, "input_schema": {}}]
    choice = {"type": None, "disable_parallel_tool_use": None}
    answered = nano.post(ANTHROPIC, messages=blocks, tools=own, tool_choice=choice, max_tokens=1)
    assert answered.status == 200


def test_whole_numbers_may_have_a_decimal_point(nano: Served):
    assert nano.ask("POST", TEXT, b'{"prompt": "hi", "max_tokens": 2.0}').body["usage"]["completion_tokens"] == 2


def requests_of_clients() -> list[dict[str, Any]]:
    lines = (Path(__file__).parent / "client_requests.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("sent", requests_of_clients(), ids=lambda sent: sent["client"])
def test_the_first_request_of_every_client_is_answered(serve: Any, sent: dict[str, Any]):
    """Their texts shortened; see tests/clients for the programs."""
    server = serve(lambda seen: say("ok"))
    answered = server.ask("POST", sent["path"], sent["body"])
    assert answered.status == 200, answered.body
    assert "ok" in str(answered.body)
