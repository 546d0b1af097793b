"""The model behind `serve`, as the official libraries of OpenAI and Anthropic reach it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from tests.app.server.serving import WEATHER, Served, served

ASKED: Any = [{"role": "user", "content": "Name the capital of France."}]


@pytest.fixture(scope="module")
def server(model: Path) -> Iterator[Served]:
    with served(model, context=1024) as found:
        yield found


@pytest.fixture
def gpt(server: Served) -> openai.OpenAI:
    return openai.OpenAI(api_key=server.token, base_url=f"{server.url}/v1", max_retries=0)


@pytest.fixture
def claude(server: Served) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key=server.token, base_url=server.url, max_retries=0)


def test_openai_whole_streamed_and_sent_back(gpt: openai.OpenAI):
    def chat(messages: Any, **more: Any) -> Any:
        return gpt.chat.completions.create(model="any", messages=messages, temperature=0, max_tokens=12, **more)

    whole = chat(ASKED).choices[0]
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chat(ASKED, stream=True))
    assert streamed == whole.message.content and "Paris" in streamed
    later = chat([*ASKED, whole.message, {"role": "user", "content": "And of Italy?"}])
    # What the model wrote before is not read again.
    details = later.usage.prompt_tokens_details
    assert details.cached_tokens > chat(ASKED).usage.prompt_tokens


def test_openai_answers_with_json(gpt: openai.OpenAI):
    schema = {
        "type": "object",
        "properties": {"capital": {"type": "string", "maxLength": 10}},
        "required": ["capital"],
        "additionalProperties": False,
    }
    found = gpt.chat.completions.create(
        model="any",
        messages=ASKED,
        temperature=0,
        max_tokens=40,
        response_format={"type": "json_schema", "json_schema": {"name": "capital", "schema": schema, "strict": True}},
    )
    assert found.choices[0].message.content is not None
    assert set(json.loads(found.choices[0].message.content)) == {"capital"}


def test_anthropic_whole_streamed_and_stopped(claude: anthropic.Anthropic):
    wanted: Any = {"model": "any", "messages": ASKED, "max_tokens": 12, "extra_body": {"temperature": 0}}
    whole = claude.messages.create(system="Be brief.", **wanted)
    with claude.messages.stream(system="Be brief.", **wanted) as stream:
        assert stream.get_final_message().content[0].text == whole.content[0].text != ""
    stopped = claude.messages.create(stop_sequences=["Paris"], **wanted)
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", "Paris")


def test_a_call_is_forced_whole_and_streamed(gpt: openai.OpenAI):
    """The model has never seen a call: what is written is the grammar's."""

    def forced(choice: Any, **more: Any) -> Any:
        return gpt.chat.completions.create(
            model="any", messages=ASKED, tools=[WEATHER], tool_choice=choice, max_tokens=60, temperature=0, **more
        )

    (call,) = forced("required").choices[0].message.tool_calls
    assert call.function.name == "weather" and isinstance(json.loads(call.function.arguments)["city"], str)
    named = {"type": "function", "function": {"name": "weather"}}
    deltas = [chunk.choices[0].delta.tool_calls for chunk in forced(named, stream=True)]
    parts = [each.function for calls in deltas for each in calls or ()]
    assert [each.name for each in parts if each.name] == ["weather"]
    assert isinstance(json.loads("".join(each.arguments or "" for each in parts))["city"], str)


def test_anthropic_s_tool_choice_forces_a_call(claude: anthropic.Anthropic):
    tool: Any = {"name": "weather", "input_schema": WEATHER["function"]["parameters"]}  # type: ignore[index]
    found = claude.messages.create(
        model="any",
        messages=ASKED,
        tools=[tool],
        tool_choice={"type": "any"},
        max_tokens=60,
        extra_body={"temperature": 0},
    )
    assert found.stop_reason == "tool_use"
    (block,) = [each for each in found.content if each.type == "tool_use"]
    assert block.name == "weather" and isinstance(block.input["city"], str)
