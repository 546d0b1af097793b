"""Calls of strict tools have names and arguments by schema; those of other tools are free behind their name."""

import json

import numpy as np
import pytest

from laguna_engine.chat.call_constraint import CallConstraint, ToolCalls
from laguna_engine.chat.messages import ToolSpec
from laguna_engine.config import PLAIN, Drafting, Request, Sampling
from laguna_engine.constrain.base import FREE, Continued
from laguna_engine.engine import Engine, EngineOptions
from laguna_engine.errors import RequestError
from laguna_engine.llama.model import Model
from tests.engine.constrain.test_calls_in_answers import PROMPT, SAMPLINGS
from tests.engine.runs import gather
from tests.engine.tiny import END_TOOL_CALL, TOOL_CALL

POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
    "required": ["x", "y"],
    "additionalProperties": False,
}
DRAW = ToolSpec(
    "draw",
    "",
    {
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 1, "maximum": 99},
            "at": {"$ref": "#/$defs/point"},
            "colour": {"enum": ["red", "green"]},
            "label": {"type": "string"},
        },
        "required": ["count", "at", "colour", "label"],
        "$defs": {"point": POINT},
    },
    strict=True,
)
FREE_TOOL = ToolSpec("free", "", {"type": "object", "properties": {"count": {"type": "integer"}}})


def argument(key: str, value: str) -> str:
    return f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n"


def could_write(model: Model, text: str) -> bool:
    """Whether all of a call is allowed, token by token."""
    constraint = begun(model)
    for token in model.vocab.tokenize(text, special=True):
        allowed = constraint.mask().allowed
        if allowed is not None:
            passes = bool(allowed.passing(np.array([token], np.int32))[0])
            assert passes == (token in allowed.every())
            if not passes:
                return False
        constraint.advance(token)
    return True


def begun(model: Model) -> CallConstraint:
    calls = ToolCalls.strict([DRAW, FREE_TOOL])
    assert calls is not None
    constraint = calls.begin(model.vocab, [])
    constraint.advance(TOOL_CALL)
    return constraint


def test_a_call_by_the_schema_can_be_written_in_any_order_of_its_arguments(tiny_model):
    values = [argument("label", "a <b>\nc"), argument("at", '{"x": -1,"y":20}'), argument("colour", "red")]
    assert could_write(tiny_model, f"draw\n{argument('count', '12')}{''.join(values)}</tool_call>")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("count", "many"),
        ("count", "0"),
        ("count", "100"),
        ("count", "1.5"),
        ("count", ""),
        ("at", "[1, 2]"),
        ("at", '{"x": 1}'),
        ("at", '{"x": 1, "y": 2, "z": 3}'),
        ("colour", "blue"),
        ("size", "1"),
    ],
)
def test_a_value_that_the_schema_refuses_cannot(tiny_model, key, value):
    assert not could_write(tiny_model, f"draw\n{argument(key, value)}")


def test_the_arguments_of_a_tool_that_is_not_strict_are_free(tiny_model):
    assert could_write(tiny_model, f"free\n{argument('count', 'many')}{argument('size', '1')}</tool_call>")
    assert not could_write(tiny_model, "other\n")
    free = begun(tiny_model)
    for token in tiny_model.vocab.tokenize("free\n", special=True):
        free.advance(token)
    assert free.mask() is FREE


def test_without_a_strict_tool_nothing_is_held():
    assert ToolCalls.strict([FREE_TOOL]) is None


def test_a_schema_that_cannot_be_used_is_refused():
    bad = ToolSpec(
        "bad", "", {"type": "object", "properties": {"x": {"type": "integer", "minimum": "one"}}}, strict=True
    )
    with pytest.raises(RequestError) as error:
        ToolCalls.strict([bad])
    assert str(error.value) == (
        "the JSON schema cannot be used: Expected f64 for 'minimum', got \"one\"; correct it, or leave that part out"
    )


COUNT = ToolSpec(
    "count",
    "",
    {"type": "object", "properties": {"from": {"type": "integer", "minimum": 0, "maximum": 99}}, "required": ["from"]},
    strict=True,
)


@pytest.mark.parametrize("drafting", [PLAIN, Drafting(length=4)], ids=["plain", "drafted"])
@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS.keys())
def test_random_weights_call_a_strict_tool_by_its_schema(tiny_model_path, sampling: Sampling, drafting: Drafting):
    calls = ToolCalls.strict([COUNT])
    assert calls is not None
    request = Request(
        PROMPT,
        sampling,
        max_tokens=120,
        drafting=drafting,
        stop_tokens=frozenset({END_TOOL_CALL}),
        constraints=(Continued(calls, 1),),
    )
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        result = gather(engine.generate(request))
    _, _, value = result.text.partition("<arg_value>")
    assert 0 <= json.loads(value.partition("</arg_value>")[0]) <= 99
