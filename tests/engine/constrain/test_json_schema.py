"""A schema's answers are valid JSON of it, from random weights too, and end; thinking and calls stay free."""

import json

import pytest

from laguna_engine.chat.answer_constraint import SchemaAnswer
from laguna_engine.config import GREEDY, PLAIN, Request, Sampling
from laguna_engine.constrain.json_schema import JsonSchema
from laguna_engine.engine import Engine
from laguna_engine.errors import RequestError
from laguna_engine.events import FinishReason
from tests.engine.runs import Run, gather
from tests.engine.tiny import END_ASSISTANT, END_THINK, EOS, THINK, TOOL_CALL

PROMPT = [40 + (11 * index) % 400 for index in range(60)]
SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["bug", "feature"]},
        "ok": {"type": "boolean"},
        "count": {"type": "integer", "minimum": 0, "maximum": 99},
        "name": {"type": "string", "maxLength": 12},
    },
    "required": ["kind", "ok", "count", "name"],
    "additionalProperties": False,
}
SAMPLINGS = {
    "greedy": GREEDY,
    "the most likely 20": Sampling(temperature=1.0, top_k=20, seed=3),
    "all tokens": Sampling(temperature=1.5, seed=4),
    "a penalty": Sampling(temperature=0.8, repeat_penalty=1.1, seed=5),
}


def run(engine: Engine, constraint: object, prompt: list[int] | None = None, **settings) -> Run:
    settings = {"max_tokens": 400, "drafting": PLAIN} | settings
    return gather(engine.generate(Request(prompt or PROMPT, constraints=(constraint,), **settings)))


def assert_of_schema(text: str) -> None:
    value = json.loads(text)
    assert list(value) == ["kind", "ok", "count", "name"]
    assert value["kind"] in ("bug", "feature")
    assert isinstance(value["ok"], bool)
    assert 0 <= value["count"] <= 99
    assert len(value["name"]) <= 12


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS.keys())
def test_random_weights_answer_with_json_of_the_schema_and_end_there(engine, sampling):
    result = run(engine, SchemaAnswer.checked(SCHEMA), sampling=sampling)
    assert result.reason is FinishReason.STOP_TOKEN
    assert result.tokens[-1] in (EOS, END_ASSISTANT)
    assert_of_schema(result.text)


def test_thinking_is_free_and_does_not_end_the_turn(engine):
    result = run(engine, SchemaAnswer.checked(SCHEMA), [*PROMPT, THINK], thinking_budget=12)
    closes = result.tokens.index(END_THINK)
    assert closes <= 12
    assert_of_schema(engine.vocab.detokenize(result.tokens[closes + 1 : -1]).decode())


def test_a_model_may_call_tools_instead_where_it_is_allowed_to(engine):
    vocab = engine.vocab
    begun = SchemaAnswer.checked(SCHEMA, calls=True).begin(vocab, PROMPT)
    assert begun.mask().allowed.passing(begun.mask().allowed.every()).all()
    assert TOOL_CALL in begun.mask().allowed.every()
    begun.advance(TOOL_CALL)
    assert begun.mask().allowed is None
    assert TOOL_CALL not in SchemaAnswer.checked(SCHEMA).begin(vocab, PROMPT).mask().allowed.every()


def test_what_must_come_next_is_drafted_as_the_vocabulary_writes_it(engine):
    begun = JsonSchema.checked(SCHEMA).begin(engine.vocab, PROMPT)
    for token in engine.vocab.tokenize('{"kind": "b', special=False):
        begun.advance(token)
    draft = begun.draft(16)
    assert engine.vocab.detokenize(draft).startswith(b'ug"')
    fork = begun.fork()
    for token in draft:
        assert fork.mask().allowed.passing(fork.mask().allowed.every()).all()
        fork.advance(token)


def test_several_markers_end_an_answer_alike(engine):
    begun = JsonSchema.checked({"type": "boolean"}).begin(engine.vocab, PROMPT)
    for token in engine.vocab.tokenize("true", special=False):
        begun.advance(token)
    assert {EOS, END_ASSISTANT} <= set(begun.mask().allowed.every().tolist())


@pytest.mark.parametrize(
    "schema, problem",
    [
        ([], "neither an object"),
        ({"type": "objekt"}, "objekt"),
        ({"$ref": "#/definitions/missing"}, "missing"),
    ],
)
def test_a_schema_that_cannot_be_held_is_refused_with_the_reason(schema, problem):
    with pytest.raises(RequestError, match=problem):
        JsonSchema.checked(schema)
