"""Whatever the grammar of strict calls allows, the parser accepts and the tool's schema validates."""

import random

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laguna_engine.chat.call_constraint import ToolCalls
from laguna_engine.chat.call_form import HERMES
from laguna_engine.chat.form_parser import FormParser
from laguna_engine.chat.known_markup import TurnMarkup
from laguna_engine.chat.messages import CallFinished, ToolSpec
from laguna_engine.chat.parser import StreamParser
from laguna_engine.errors import RequestError
from laguna_engine.gguf.laguna import END_TOOL_CALL, TOOL_CALL
from tests.engine.chat.test_form_constraint import MISSION as MISTRAL
from tests.engine.chat.test_form_constraint import vocabulary as form_vocabulary
from tests.engine.chat.test_form_parser import CODER, GEMMA, PYTHON

KEY, END_KEY, OPENING, CLOSING = "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"
WORDS = ["true", "false", "null", "red", "größe", ">\n<", "</", "arg_", "value>", '": ', "12", "a-b", "</arg_value>\n"]
MOST_TOKENS = 600


class Vocabulary:
    """Every byte, some words, and the tags that have a token of their own."""

    eog = frozenset({0})

    def __init__(self, *tags: str) -> None:
        self.markers = dict(enumerate(("<eos>", TOOL_CALL, *tags)))
        self._ids = {text: token for token, text in self.markers.items()}
        texts = [*(bytes((byte,)) for byte in range(256)), *(word.encode() for word in WORDS)]
        self.pieces = [*(b"" for _ in self.markers), *texts]
        self.size = len(self.pieces)

    def piece(self, token: int) -> bytes:
        return self.markers[token].encode() if token in self.markers else self.pieces[token]

    def is_control(self, token: int) -> bool:
        return token in self.markers

    def id_of(self, text: str) -> int | None:
        return self._ids.get(text)

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        return [len(self.markers) + byte for byte in text.encode()]


VOCABULARIES = {
    "tags are text": Vocabulary(),
    "the call's end is a token": Vocabulary(END_TOOL_CALL),
    "tags are tokens": Vocabulary(END_TOOL_CALL, KEY, END_KEY, OPENING, CLOSING),
}

SCHEMAS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 2, "maxLength": 5},
        {"type": "string", "pattern": "^[a-z]{3}$"},
        {"type": "string", "pattern": "b+"},
        {"type": "string", "pattern": r"^/x|\.$", "maxLength": 4} | {"pattern": r"^/x"},
        {"type": "string", "format": "date"},
        {"const": "größe"},
        {"enum": ["red", "green"]},
        {"type": "boolean"},
        {"type": "integer", "minimum": 1, "maximum": 99},
        {"type": ["integer", "null"]},
        {"type": ["string", "null"], "maxLength": 3, "pattern": "^[a-m]*$"},
        {"anyOf": [{"type": "string", "pattern": "^x*$"}, {"type": "integer", "minimum": 5, "maximum": 7}]},
        {"type": "array", "items": {"type": "integer", "maximum": 3, "minimum": 0}, "maxItems": 3},
        {"$ref": "#/$defs/point"},
        {"allOf": [{"$ref": "#/$defs/colour"}], "description": "as pydantic writes it"},
    ]
)
DEFINITIONS = {
    "point": {
        "type": "object",
        "properties": {"x": {"type": "integer", "maximum": 9, "minimum": 0}},
        "required": ["x"],
        "additionalProperties": False,
    },
    "colour": {"type": "string", "enum": ["red", "blue"]},
}


@st.composite
def tools(draw) -> ToolSpec:
    names = ["a", "b_b", "größe", "c-d", "e", "f", "g", "h"][: draw(st.integers(0, 8))]
    return ToolSpec(
        "draw",
        "",
        {
            "type": "object",
            "properties": {name: draw(SCHEMAS) for name in names},
            "required": [name for name in names if draw(st.booleans())],
            "additionalProperties": False,
            "$defs": DEFINITIONS,
        },
        strict=True,
    )


def walked(tool: ToolSpec, vocabulary: Vocabulary, chosen: random.Random) -> list[int]:
    """A random call that the grammar allows; where it may end it mostly does."""
    calls = ToolCalls.strict([tool])
    assert calls is not None
    constraint = calls.begin(vocabulary, [])
    tokens = [1]
    constraint.advance(1)
    closing = [token for token in range(vocabulary.size) if vocabulary.piece(token)[:1] in b'</"}]>1']
    while len(tokens) < MOST_TOKENS:
        allowed = constraint.mask().allowed
        possible = range(2, vocabulary.size) if allowed is None else allowed.every().tolist()
        if allowed is not None:
            assert allowed.passing(np.array(possible, np.int32)).all()
            other = [token for token in chosen.sample(range(vocabulary.size), 20) if token not in possible]
            assert not allowed.passing(np.array(other, np.int32)).any()
        likely = [token for token in possible if token in closing]
        token = chosen.choice(likely if likely and chosen.random() < 0.8 else list(possible))
        tokens.append(token)
        constraint.advance(token)
        if vocabulary.piece(token).endswith(END_TOOL_CALL.encode()) or b"".join(
            map(vocabulary.piece, tokens[-len(END_TOOL_CALL) :])
        ).endswith(END_TOOL_CALL.encode()):
            return tokens
    return []


@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES.keys())
@given(tools(), st.integers(0, 1 << 30))
def test_a_call_that_is_allowed_can_be_parsed_and_is_valid(vocabulary, tool, seed):
    tokens = walked(tool, vocabulary, random.Random(seed))
    if not tokens:
        return
    parser = StreamParser([tool], markers=vocabulary.markers)
    events = [event for token in tokens for event in parser.feed(token, vocabulary.piece(token))]
    finished = [event for event in events if isinstance(event, CallFinished)]
    assert finished, (b"".join(map(vocabulary.piece, tokens)), events)
    jsonschema.validate(finished[0].call.arguments, tool.parameters)


BY_NAME = {"Hermes": HERMES, "Coder": CODER, "Python": PYTHON, "Gemma": GEMMA, "Mistral": MISTRAL}


@pytest.mark.parametrize("tokens", [True, False], ids=["tokens", "text"])
@pytest.mark.parametrize("form", BY_NAME.values(), ids=BY_NAME)
@given(tools(), st.integers(0, 1 << 30))
@settings(max_examples=15)
def test_the_same_holds_in_every_form(form, tokens, tool, seed):
    chosen, vocab = random.Random(seed), form_vocabulary(form, tokens=tokens)
    calls = ToolCalls.strict([tool], TurnMarkup((form,)))
    assert calls is not None
    constraint = calls.begin(vocab, [])
    said = vocab.tokenize(form.opens, special=True)
    for token in said:
        constraint.advance(token)
    assert constraint.mask().allowed is not None
    closing = [
        token for token in range(vocab.size) if vocab.piece(token)[:1] in (*(b"%c" % each for each in b"'\"}])<1"),)
    ]
    while constraint._call is not None:
        if len(said) > MOST_TOKENS:
            return
        allowed = constraint.mask().allowed
        possible = closing if allowed is None else allowed.every().tolist()
        likely = [token for token in possible if token in closing]
        said.append(chosen.choice(likely if likely and chosen.random() < 0.8 else possible))
        constraint.advance(said[-1])
    parser = FormParser((tool,), (form,), special=[form.opens[:12]])
    text = b"".join(map(vocab.piece, said))
    finished = [each for each in [*parser.feed(0, text), *parser.finish()] if isinstance(each, CallFinished)]
    assert finished, text
    jsonschema.validate(finished[0].call.arguments, tool.parameters)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "string", "pattern": "^a|b$"}, "pattern '^a|b$' cannot be enforced"),
        ({"type": "string", "pattern": "(?=a)"}, "cannot be used"),
        ({"type": "string", "format": "hostname"}, "format 'hostname' cannot be enforced"),
        ({"type": "string", "not": {"const": "x"}}, "not cannot be enforced"),
        ({"type": "integer", "minimum": "one"}, "cannot be used"),
    ],
)
def test_what_cannot_be_held_is_refused(schema, problem):
    tool = ToolSpec("draw", "", {"type": "object", "properties": {"a": schema}}, strict=True)
    with pytest.raises(RequestError) as refused:
        ToolCalls.strict([tool])
    assert problem in str(refused.value)
