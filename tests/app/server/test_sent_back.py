"""An answer, as OpenAI's and Anthropic's own libraries hold it, is accepted when it is sent back."""

from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest
from pydantic import BaseModel

from tests.app.server.serving import WEATHER, Served
from tests.scripted_model import call, raw, say, think

ANSWERS: dict[str, tuple[Any, int]] = {
    "empty": (say(""), 100),
    "text": (say("Hello."), 100),
    "thinking": (say(think("I weigh it."), "Hello."), 100),
    "cut while thinking": (say(think("word " * 200), "Hello."), 8),
    "cut in the text": (say("word " * 200), 8),
    "call": (call("weather", city="Rome"), 100),
    "text and calls": (say("Look:", call("weather", city="Rome"), call("weather", city="Oslo")), 200),
    "call without arguments": (call("weather"), 100),
    "cut in a call": (call("weather", city="word " * 200), 20),
    "call that cannot be run": (raw("\n<tool_call>nothing\n</tool_call>\n</assistant>"), 100),
}
"""What the model says, and the limit of tokens."""

FUNCTION: dict[str, Any] = WEATHER["function"]  # type: ignore[assignment]
STRICT_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "additionalProperties": False,
}
STRICT_TOOL: Any = {
    "type": "function",
    "function": {"name": "weather", "strict": True, "parameters": STRICT_PARAMETERS},
}
"""What the helpers that parse take: they refuse other tools."""


class Found(BaseModel):
    """A JSON answer."""

    ok: bool


def chat_created(client: openai.OpenAI, **wanted: Any) -> Any:
    return client.chat.completions.create(tools=[WEATHER], **wanted).choices[0].message


def chat_added_up(client: openai.OpenAI, **wanted: Any) -> Any:
    """As programs add up a stream by hand."""
    content, calls = None, {}
    for chunk in client.chat.completions.create(tools=[WEATHER], stream=True, **wanted):
        delta = chunk.choices[0].delta
        if delta.content is not None:
            content = (content or "") + delta.content
        for each in delta.tool_calls or []:
            known = calls.setdefault(each.index, {"id": each.id, "type": "function", "name": "", "arguments": ""})
            known["name"] += each.function.name or ""
            known["arguments"] += each.function.arguments or ""
    made = [
        {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
        for c in calls.values()
    ]
    return {"role": "assistant", "content": content} | ({"tool_calls": made} if made else {})


def chat_streamed(client: openai.OpenAI, **wanted: Any) -> Any:
    with client.chat.completions.stream(tools=[STRICT_TOOL], **wanted) as stream:
        try:
            return stream.get_final_completion().choices[0].message
        except openai.LengthFinishReasonError as error:
            return error.completion.choices[0].message


def chat_parsed(client: openai.OpenAI, **wanted: Any) -> Any:
    try:
        return client.chat.completions.parse(tools=[STRICT_TOOL], **wanted).choices[0].message
    except openai.LengthFinishReasonError as error:
        return error.completion.choices[0].message


def without_nulls(way: Callable[..., Any]) -> Callable[..., Any]:
    def dumped(client: openai.OpenAI, **wanted: Any) -> Any:
        found = way(client, **wanted)
        return found.model_dump(exclude_none=True) if isinstance(found, BaseModel) else found

    return dumped


CHATS = {
    "created": chat_created,
    "added up": chat_added_up,
    "streamed": chat_streamed,
    "parsed": chat_parsed,
    "created, without nulls": without_nulls(chat_created),
    "streamed, without nulls": without_nulls(chat_streamed),
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.sampled(3)
def test_a_chat_s_answer_is_accepted_when_it_is_sent_back(serve: Any, answer: str):
    said, limit = ANSWERS[answer]
    server = serve(lambda seen: "Go on." if "and now?" in seen.text else said, thinking="think" in answer)
    client = openai.OpenAI(api_key=server.token, base_url=f"{server.url}/v1", max_retries=0)
    asked: list[Any] = [{"role": "user", "content": "hi"}]
    for way, read in CHATS.items():
        message = read(client, model="any", messages=asked, max_tokens=limit, temperature=0)
        made = message.get("tool_calls") if isinstance(message, dict) else message.tool_calls
        ids = [each["id"] if isinstance(each, dict) else each.id for each in made or []]
        results = [{"role": "tool", "tool_call_id": each, "content": "sunny"} for each in ids]
        back = [*asked, message, *results, {"role": "user", "content": "and now?"}]
        found = client.chat.completions.create(model="any", messages=back, tools=[WEATHER])  # type: ignore[list-item]
        assert found.choices[0].message.content == "Go on.", way


def responses_created(client: openai.OpenAI, **wanted: Any) -> Any:
    return client.responses.create(**wanted).output


ENDS = ("response.completed", "response.incomplete")


def responses_streamed(client: openai.OpenAI, **wanted: Any) -> Any:
    with client.responses.stream(**wanted) as stream:
        # The final response of the helper is there only for an answer that was not cut.
        return [event for event in stream if event.type in ENDS][-1].response.output


def responses_dumped(client: openai.OpenAI, **wanted: Any) -> Any:
    return [item.model_dump() for item in responses_created(client, **wanted)]


def responses_without_nulls(client: openai.OpenAI, **wanted: Any) -> Any:
    return [item.model_dump(exclude_none=True) for item in responses_streamed(client, **wanted)]


def responses_parsed(client: openai.OpenAI, **wanted: Any) -> Any:
    return client.responses.parse(**wanted).output


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.sampled(3)
def test_a_response_s_output_is_accepted_when_it_is_sent_back(serve: Any, answer: str):
    said, limit = ANSWERS[answer]
    server = serve(lambda seen: "Go on." if "and now?" in seen.text else said, thinking="think" in answer)
    client = openai.OpenAI(api_key=server.token, base_url=f"{server.url}/v1", max_retries=0)
    tool = {"type": "function", "name": "weather", "strict": True, "parameters": STRICT_PARAMETERS}
    asked: list[Any] = [{"role": "user", "content": "hi"}]
    ways = (responses_created, responses_streamed, responses_dumped, responses_without_nulls, responses_parsed)
    for read in ways:
        output = read(client, model="any", input=asked, tools=[tool], max_output_tokens=limit, temperature=0)
        items = [item if isinstance(item, dict) else item.model_dump() for item in output]
        results = [
            {"type": "function_call_output", "call_id": item["call_id"], "output": "sunny"}
            for item in items
            if item["type"] == "function_call"
        ]
        back: list[Any] = [*asked, *output, *results, {"role": "user", "content": "and now?"}]
        found = client.responses.create(model="any", input=back, tools=[tool])  # type: ignore[list-item]
        assert found.status == "completed", read.__name__


def message_created(client: anthropic.Anthropic, **wanted: Any) -> Any:
    return client.messages.create(**wanted).content


def message_streamed(client: anthropic.Anthropic, **wanted: Any) -> Any:
    with client.messages.stream(**wanted) as stream:
        return stream.get_final_message().content


def message_of_the_beta(client: anthropic.Anthropic, **wanted: Any) -> Any:
    with client.beta.messages.stream(**wanted) as stream:
        return stream.get_final_message().content


def message_without_nulls(client: anthropic.Anthropic, **wanted: Any) -> Any:
    return [block.model_dump(exclude_none=True) for block in message_streamed(client, **wanted)]


def message_dumped(client: anthropic.Anthropic, **wanted: Any) -> Any:
    return [block.model_dump() for block in message_streamed(client, **wanted)]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.sampled(3)
def test_a_message_of_anthropic_s_is_accepted_when_it_is_sent_back(serve: Any, answer: str):
    said, limit = ANSWERS[answer]
    server = serve(lambda seen: "Go on." if "and now?" in seen.text else said, thinking="think" in answer)
    client = anthropic.Anthropic(api_key=server.token, base_url=server.url, max_retries=0)
    tools: list[Any] = [{"name": "weather", "input_schema": FUNCTION["parameters"]}]
    asked: list[Any] = [{"role": "user", "content": "hi"}]
    for read in (message_created, message_streamed, message_of_the_beta, message_without_nulls, message_dumped):
        content = read(client, model="any", messages=asked, tools=tools, max_tokens=limit)
        blocks = [block if isinstance(block, dict) else block.model_dump() for block in content]
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": "sunny"}
            for block in blocks
            if block["type"] == "tool_use"
        ]
        text = {"type": "text", "text": "and now?"}
        back: list[Any] = [
            *asked,
            {"role": "assistant", "content": content},
            {"role": "user", "content": [*results, text]},
        ]
        found = client.messages.create(model="any", max_tokens=100, messages=back, tools=tools)
        assert [block.text for block in found.content if block.type == "text"] == ["Go on."], read.__name__
        counted = client.messages.count_tokens(model="any", messages=back, tools=tools)
        usage = found.usage
        assert counted.input_tokens == usage.input_tokens + (usage.cache_read_input_tokens or 0), read.__name__


def test_a_parsed_object_is_accepted_when_it_is_sent_back(serve: Any):
    server = serve(lambda seen: "Go on." if "and now?" in seen.text else say('{"ok": true}'))
    client = openai.OpenAI(api_key=server.token, base_url=f"{server.url}/v1", max_retries=0)
    asked: list[Any] = [{"role": "user", "content": "hi"}]
    message = client.chat.completions.parse(model="any", messages=asked, response_format=Found).choices[0].message
    assert message.parsed == Found(ok=True)
    back: list[Any] = [*asked, message, {"role": "user", "content": "and now?"}]
    assert client.chat.completions.create(model="any", messages=back).choices[0].message.content == "Go on."
    parsed = client.responses.parse(model="any", input=asked, text_format=Found)
    assert parsed.output_parsed == Found(ok=True)
    back = [*asked, *parsed.output, {"role": "user", "content": "and now?"}]
    assert client.responses.create(model="any", input=back).output_text == "Go on."


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": None, "refusal": "I will not."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I will not."}]},
        {"role": "assistant", "content": None, "tool_calls": [], "function_call": None, "audio": None},
    ],
)
def test_an_assistant_s_message_without_text_is_read(serve: Any, message: dict[str, Any]):
    server = serve(lambda seen: "refused" if "I will not." in seen.text else "nothing")
    answered = server.chat("hi", message, "and now?")
    assert answered.status == 200, answered.body
    expected = "refused" if "will not" in str(message) else "nothing"
    assert answered.body["choices"][0]["message"]["content"] == expected


def test_a_tool_s_result_without_content_is_empty(serve: Any):
    server = serve([call("weather", city="Rome"), lambda seen: f"It said '{seen.result}'."])
    first = server.chat("weather?", tools=[WEATHER]).body["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": first["tool_calls"][0]["id"], "content": None}
    second = server.chat("weather?", first, result, tools=[WEATHER])
    assert second.body["choices"][0]["message"]["content"] == "It said ''."


def test_a_streamed_answer_without_text_has_an_empty_text(serve: Any):
    """As the answer in one object has it."""
    server: Served = serve(lambda seen: say(""))
    events = server.chat_events("hi")
    assert [event["choices"][0]["delta"].get("content") for event in events] == [None, "", None]
    assert server.chat("hi").body["choices"][0]["message"]["content"] == ""


_CALLS = [("a", "Paris"), ("b", "Rome")]
REVERSED: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": each,
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": f'{{"c": "{city}"}}'},
                    }
                    for each, city in _CALLS
                ],
            },
            *({"role": "tool", "tool_call_id": each, "content": f"in {city}"} for each, city in reversed(_CALLS)),
        ]
    },
    "/v1/responses": {
        "input": [
            {"role": "user", "content": "hi"},
            *(
                {"type": "function_call", "call_id": each, "name": "get_weather", "arguments": f'{{"c": "{city}"}}'}
                for each, city in _CALLS
            ),
            *(
                {"type": "function_call_output", "call_id": each, "output": f"in {city}"}
                for each, city in reversed(_CALLS)
            ),
        ]
    },
    "/v1/messages": {
        "max_tokens": 50,
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": each, "name": "get_weather", "input": {"c": city}}
                    for each, city in _CALLS
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": each, "content": f"in {city}"}
                    for each, city in reversed(_CALLS)
                ],
            },
        ],
    },
}


@pytest.mark.parametrize("path", REVERSED)
def test_results_are_read_in_the_order_of_their_calls(serve: Any, path: str):
    seen = list[str]()
    server = serve(lambda each: seen.append(each.text) or "Read.")
    assert server.post(path, **REVERSED[path]).status == 200
    assert seen[-1].index("in Paris") < seen[-1].index("in Rome")
