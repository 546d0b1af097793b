"""What llama.cpp's own server tests check of Anthropic's messages and OpenAI's responses: see README.md beside."""

import json
from typing import Any

import anthropic
import openai
import pytest

from tests.app.server.serving import Served
from tests.scripted_model import call, say, think

TOOL = {
    "name": "weather",
    "description": "The weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def message(server: Served, *said: Any, **more: Any) -> Any:
    messages = [{"role": "user", "content": each} if isinstance(each, str) else each for each in said]
    answered = server.post("/v1/messages", **{"max_tokens": 32, **more}, messages=messages)
    assert answered.status == 200, answered.body
    return answered.body


def test_anthropic_messages_basic(nano: Served):
    found = message(nano, "hello")
    assert (found["type"], found["role"]) == ("message", "assistant")
    assert found["id"].startswith("msg_")
    assert found["content"][0]["type"] == "text"
    assert found["content"][0]["text"]
    assert found["stop_reason"] in ("end_turn", "max_tokens")
    assert found["usage"]["output_tokens"] > 0


def test_anthropic_messages_with_system(serve: Any):
    server = serve(lambda seen: "system" if "Be brief." in seen.text else "none")
    assert message(server, "hi", system="Be brief.")["content"][0]["text"] == "system"
    blocks = [{"type": "text", "text": "x-anthropic-billing-header: 1"}, {"type": "text", "text": "Be brief."}]
    assert message(server, "hi there", system=blocks)["content"][0]["text"] == "system"


def test_a_billing_header_that_changes_leaves_the_cache_as_it_is(serve: Any):
    server = serve(lambda seen: "ok")
    for number in range(2):
        head = {"type": "text", "text": f"x-anthropic-billing-header: {number}"}
        found = message(server, "hi", system=[head, {"type": "text", "text": "Be brief. " * 50}])
    assert found["usage"]["input_tokens"] == 1


def test_anthropic_messages_multipart_content(serve: Any):
    server = serve(lambda seen: "both" if "one\ntwo" in seen.text else "not")
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert message(server, {"role": "user", "content": parts})["content"][0]["text"] == "both"


def test_anthropic_messages_conversation(serve: Any):
    server = serve(lambda seen: str(seen.text.count("<user>")))
    before = {"role": "assistant", "content": "hello"}
    assert message(server, "hi", before, "again")["content"][0]["text"] == "2"


def test_anthropic_messages_streaming(nano: Served):
    events = nano.named_events("/v1/messages", max_tokens=12, messages=[{"role": "user", "content": "hello"}])
    names = [name for name, _ in events]
    assert names == [event["type"] for _, event in events]
    assert names[0] == "message_start"
    begun = events[0][1]["message"]
    assert (begun["type"], begun["role"], begun["content"]) == ("message", "assistant", [])
    assert begun["usage"]["input_tokens"] > 0
    first = next(event for name, event in events if name == "content_block_start")
    assert (first["index"], first["content_block"]["type"]) == (0, "text")
    deltas = [event for name, event in events if name == "content_block_delta"]
    assert {(event["index"], event["delta"]["type"]) for event in deltas} == {(0, "text_delta")}
    assert [event["index"] for name, event in events if name == "content_block_stop"] == [0]
    assert events[-2][1]["delta"]["stop_reason"] in ("end_turn", "max_tokens")
    assert events[-1][1] == {"type": "message_stop"}
    assert names[-2:] == ["message_delta", "message_stop"]
    text = "".join(event["delta"]["text"] for name, event in events if name == "content_block_delta")
    whole = message(nano, "hello", max_tokens=12, temperature=0)
    assert text
    assert events[-2][1]["usage"]["output_tokens"] == whole["usage"]["output_tokens"]


def test_anthropic_count_tokens(nano: Served):
    def count(**more: Any) -> int:
        return nano.post("/v1/messages/count_tokens", messages=[{"role": "user", "content": "hi"}], **more).body[
            "input_tokens"
        ]

    plain = count(max_tokens=5)
    assert plain == count()
    assert count(system="You are a helpful assistant.") != plain
    usage = message(nano, "hi")["usage"]
    assert usage["input_tokens"] + usage["cache_read_input_tokens"] == plain


def test_anthropic_thinking_history_is_counted(nano: Served):
    def count(*blocks: Any) -> int:
        answer = {"role": "assistant", "content": [*blocks, {"type": "text", "text": "b"}]}
        messages = [{"role": "user", "content": "a"}, answer,
                    {"role": "user", "content": "c"}]  # fmt: skip
        return nano.post("/v1/messages/count_tokens", messages=messages).body["input_tokens"]

    assert count({"type": "thinking", "thinking": "a long thought", "signature": ""}) > count()


def test_anthropic_tool_use_basic(serve: Any):
    found = message(serve([say("Look:", call("weather", city="Rome"))]), "weather?", tools=[TOOL])
    text, use = found["content"]
    assert text == {"type": "text", "text": "Look:"}
    assert (use["type"], use["name"], use["input"]) == ("tool_use", "weather", {"city": "Rome"})
    assert found["stop_reason"] == "tool_use"


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "weather"}])
def test_anthropic_tool_choice(serve: Any, choice: Any):
    server = serve([call("weather", city="Rome")])
    found = message(server, "weather?", tools=[TOOL], tool_choice=choice)
    assert found["content"][0]["input"] == {"city": "Rome"}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"content": "sunny"}, "sunny"),
        ({"content": [{"type": "text", "text": "sunny"}]}, "sunny"),
        ({"content": "no such city", "is_error": True}, "error: no such city"),
    ],
)
def test_anthropic_tool_result(serve: Any, result: Any, expected: str):
    server = serve([call("weather", city="Rome"), lambda seen: f"It said {seen.result}"])
    first = message(server, "weather?", tools=[TOOL])
    use = first["content"][0]
    back = {"type": "tool_result", "tool_use_id": use["id"], **result}
    said = [{"role": "assistant", "content": first["content"]}, {"role": "user", "content": [back]}]
    found = message(server, "weather?", *said, tools=[TOOL])
    assert found["content"][0]["text"] == f"It said {expected}"


def test_anthropic_tool_result_with_text(serve: Any):
    server = serve(lambda seen: "ok" if seen.text.index("sunny") < seen.text.index("and tomorrow") else "no")
    use = {"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Rome"}}
    back = [{"type": "tool_result", "tool_use_id": "1", "content": "sunny"}, {"type": "text", "text": "and tomorrow?"}]
    said = [{"role": "assistant", "content": [use]}, {"role": "user", "content": back}]
    assert message(server, "weather?", *said, tools=[TOOL])["content"][0]["text"] == "ok"


@pytest.mark.parametrize("block", [{"type": "image", "source": {}}, {"type": "document"}])
def test_anthropic_vision_is_refused(nano: Served, block: Any):
    said = [{"role": "user", "content": [block]}]
    answered = nano.post("/v1/messages", max_tokens=5, messages=said)
    assert (answered.status, answered.body["error"]["type"]) == (400, "invalid_request_error")


def test_anthropic_tool_streaming(serve: Any):
    server = serve([say("Look:", call("weather", city="Rome"))])
    said = [{"role": "user", "content": "weather?"}]
    events = server.named_events("/v1/messages", max_tokens=90, messages=said, tools=[TOOL])
    starts = [event["content_block"] for name, event in events if name == "content_block_start"]
    assert [block["type"] for block in starts] == ["text", "tool_use"]
    json_parts = [e["delta"]["partial_json"] for n, e in events if n == "content_block_delta" and e["index"] == 1]
    assert json.loads("".join(json_parts)) == {"city": "Rome"}
    assert events[-2][1]["delta"]["stop_reason"] == "tool_use"


def test_anthropic_stop_sequences(serve: Any):
    found = message(serve([say("one two three")]), "count", stop_sequences=["never", " two"])
    assert (found["stop_reason"], found["stop_sequence"]) == ("stop_sequence", " two")
    assert found["content"][0]["text"] == "one"


@pytest.mark.parametrize(
    "settings", [{"temperature": 0.5}, {"top_p": 0.9}, {"top_k": 5}, {"metadata": {"user_id": "u"}}]
)
def test_anthropic_settings(nano: Served, settings: Any):
    assert message(nano, "hello", **settings)["type"] == "message"


@pytest.mark.parametrize("body", [{}, {"messages": []}, {"messages": [{"role": "user"}]}, {"messages": "hi"}])
def test_anthropic_missing_messages(nano: Served, body: Any):
    answered = nano.post("/v1/messages", max_tokens=5, **body)
    assert (answered.status, answered.body["type"]) == (400, "error")


def test_anthropic_needs_a_limit(nano: Served):
    assert nano.post("/v1/messages", messages=[{"role": "user", "content": "hi"}]).status == 400


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic_thinking(serve: Any, stream: bool):
    server = serve([say(think("I have to think."), "Done.")])
    wanted = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 500}
    if not stream:
        content = message(server, "hello", **wanted)["content"]
        assert [block["type"] for block in content] == ["thinking", "text"]
        assert (content[0]["thinking"], content[1]["text"]) == ("I have to think.", "Done.")
        assert "signature" in content[0]
        return
    events = server.named_events("/v1/messages", messages=[{"role": "user", "content": "hello"}], **wanted)
    blocks: dict[int, list[Any]] = {}
    for name, event in events:
        if name.startswith("content_block"):
            blocks.setdefault(event["index"], []).append(event)
    assert sorted(blocks) == [0, 1]
    assert [each[0]["content_block"]["type"] for each in blocks.values()] == ["thinking", "text"]
    assert all(each[-1]["type"] == "content_block_stop" for each in blocks.values())
    thoughts = "".join(event["delta"].get("thinking", "") for event in blocks[0][1:-1])
    assert thoughts == "I have to think."
    assert blocks[0][-2]["delta"]["type"] == "signature_delta"


def test_anthropic_library(serve: Any):
    server = serve([call("weather", city="Rome"), lambda seen: f"It is {seen.result} there."])
    client = anthropic.Anthropic(api_key=server.token, base_url=server.url, max_retries=0)
    asked: list[Any] = [{"role": "user", "content": "weather?"}]
    with client.messages.stream(model="any", max_tokens=100, messages=asked, tools=[TOOL]) as stream:  # type: ignore[list-item]
        first = stream.get_final_message()
    use = first.content[0]
    assert use.type == "tool_use"
    result = {"type": "tool_result", "tool_use_id": use.id, "content": "sunny"}
    asked += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    with client.messages.stream(model="any", max_tokens=100, messages=asked, tools=[TOOL]) as stream:  # type: ignore[list-item]
        assert "".join(stream.text_stream) == "It is sunny there."
    counted = client.messages.count_tokens(model="any", messages=asked, tools=[TOOL])  # type: ignore[list-item]
    assert counted.input_tokens > 50


def test_responses_with_openai_library(serve: Any):
    server = serve(["The answer.", say(think("Hm."), "Thought.")], thinking=True)
    client = openai.OpenAI(api_key=server.token, base_url=f"{server.url}/v1")
    found = client.responses.create(model="any", instructions="Be brief.", input="hello", max_output_tokens=50)
    assert found.id.startswith("resp_")
    assert found.output[0].id.startswith("msg_")  # type: ignore[union-attr]
    assert found.output_text == "The answer."
    assert found.status == "completed"
    second = client.responses.create(model="any", input=[{"role": "user", "content": "think"}])
    assert [item.type for item in second.output] == ["reasoning", "message"]


def test_responses_stream_with_openai_library(serve: Any):
    server = serve([say("Look:", call("weather", city="Rome")), lambda seen: f"It is {seen.result}."])
    client = openai.OpenAI(api_key=server.token, base_url=f"{server.url}/v1")
    # Codex offers tools that are no functions beside those that are.
    tools: list[Any] = [{"type": "local_shell"}, {"type": "web_search"},
                        {"type": "function", "name": "weather", "parameters": TOOL["input_schema"]}]  # fmt: skip
    events = list(client.responses.create(model="any", input="weather?", tools=tools, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    done = events[-1]
    assert done.type == "response.completed"
    created = events[0]
    assert created.type == "response.created"
    assert created.response.id.startswith("resp_")
    of_responses = [event.response.id for event in events if hasattr(event, "response")]
    assert set(of_responses) == {created.response.id}
    message_, called = done.response.output
    assert message_.id.startswith("msg_")
    of_items = [getattr(event, "item_id", None) or event.item.id for event in events if hasattr(event, "output_index")]
    assert set(of_items) == {message_.id, called.id}
    assert (message_.type, called.type) == ("message", "function_call")
    assert json.loads(called.arguments) == {"city": "Rome"}
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == "Look:"
    back = [{"role": "user", "content": "weather?"}, message_.model_dump(), called.model_dump(),
            {"type": "function_call_output", "call_id": called.call_id, "output": "sunny"}]  # fmt: skip
    assert client.responses.create(model="any", input=back, tools=tools).output_text == "It is sunny."


def test_responses_need_the_whole_input(nano: Served):
    answered = nano.post("/v1/responses", input="hi", previous_response_id="resp_1")
    assert (answered.status, answered.body["error"]["param"]) == (400, "previous_response_id")


def test_a_limit_makes_a_response_incomplete(nano: Served):
    found = nano.post("/v1/responses", input="hello", max_output_tokens=3).body
    assert (found["status"], found["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
