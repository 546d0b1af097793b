"""What an endpoint nests too deeply for a parser is an answer like any other wrong one."""

import json

import pytest

from laguna_engine.chat.call_arguments import MAX_DEPTH
from laguna_engine.chat.messages import Malformed, ToolSpec
from laguna_tui.backends.chat_format import AnswerReader, GarbageError
from laguna_tui.backends.endpoint import RemoteOptions, loopback_models
from laguna_tui.backends.remote import RemoteBackend
from laguna_tui.backends.remote_errors import RemoteError, RemoteProblem, of_status
from tests.scripted_endpoint import endpoint

BOMB = b"[" * 100_000
READ = ToolSpec("read", "", {"type": "object", "properties": {"path": {"type": "string"}}})
TOO_DEEP = (
    f"The arguments of `read` are nested too deeply; make the call again with at most {MAX_DEPTH} levels of lists and "
    "objects."
)


def test_a_list_of_models():
    with endpoint(listing=BOMB) as served:
        port = int(served.url.rsplit(":", 1)[1].removesuffix("/v1"))
        assert loopback_models({port: "vLLM"}, wait_s=60) == ()
        with pytest.raises(RemoteError, match="something that is not a list of models") as found:
            RemoteBackend.open(RemoteOptions(served.url, loopback=True), lambda progress: None)
        assert found.value.problem is RemoteProblem.GARBAGE


def test_an_error():
    error = of_status(500, BOMB, {}, "host", "KEY")
    assert error.problem is RemoteProblem.FAILED
    assert str(error).startswith("host failed (500): “[[[")


def answered(form: str, depth: int) -> AnswerReader:
    """Reads an answer that calls a tool with arguments of this depth."""
    nested = "[" * depth + "]" * depth
    arguments = f'{{"path": {nested}}}'
    delta = {
        "text": {"tool_calls": [{"index": 0, "function": {"name": "read", "arguments": arguments}}]},
        "object": {"tool_calls": [{"index": 0, "function": {"name": "read", "arguments": {"path": "HERE"}}}]},
        "spelled": {"content": f'<tool_call>{{"name": "read", "arguments": {arguments}}}</tool_call>'},
    }[form]
    data = json.dumps({"choices": [{"delta": delta}]}).replace('"HERE"', nested).encode()
    reader = AnswerReader([READ])
    assert list(reader.take(data)) == list(reader.finish()) == []
    return reader


@pytest.mark.parametrize("depth", [MAX_DEPTH, 300])
@pytest.mark.parametrize("form", ["text", "object", "spelled"])
def test_arguments_that_can_be_read(form: str, depth: int):
    """They would be in every later request, which could not be written any more."""
    (call,) = answered(form, depth).calls()
    assert isinstance(call, Malformed)
    assert call.problem == TOO_DEEP


@pytest.mark.parametrize("form", ["text", "spelled"])
def test_arguments_that_cannot_be_read(form: str):
    (call,) = answered(form, 100_000).calls()
    assert isinstance(call, Malformed)
    assert "not valid JSON" in call.problem


def test_an_answer_that_cannot_be_read():
    with pytest.raises(GarbageError, match="choices"):
        answered("object", 100_000)
