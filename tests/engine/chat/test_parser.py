"""The model's output becomes typed events, however it is split into tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.chat.encoding import SafeEncoder
from laguna_engine.chat.messages import (
    AssistantMessage,
    CallArgument,
    CallFinished,
    CallStarted,
    Malformed,
    ParserEvent,
    Reasoning,
    Text,
    ToolCall,
    ToolSpec,
)
from laguna_engine.chat.parser import StreamParser
from laguna_engine.chat.template import Family, Renderer
from tests.engine.chat.fake_vocabulary import LAGUNA_SPECIALS, FakeVocabulary

SEARCH = ToolSpec(
    "search",
    "Lines that match.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": ["string", "null"]},
            "limit": {"type": "integer"},
            "ratio": {"type": "number"},
            "deep": {"type": "boolean"},
            "names": {"type": "array"},
            "options": {"type": "object"},
            "anything": {},
        },
        "required": ["pattern"],
    },
)
LIST = ToolSpec("list", "Everything.", {"type": "object", "properties": {}})
ONLY_EOS = ("〈|EOS|〉",)


def merged(events: list[ParserEvent]) -> list[ParserEvent]:
    """The events, adjacent deltas of one kind joined."""
    out: list[ParserEvent] = []
    for event in events:
        match out[-1:], event:
            case [Text(before)], Text(after):
                out[-1] = Text(before + after)
            case [Reasoning(before)], Reasoning(after):
                out[-1] = Reasoning(before + after)
            case [CallArgument(index, key, before)], CallArgument(same, name, after) if (index, key) == (same, name):
                out[-1] = CallArgument(index, key, before + after)
            case _:
                out.append(event)
    return out


def parse(text: str, in_reasoning: bool = False, specials: tuple[str, ...] = LAGUNA_SPECIALS) -> list[ParserEvent]:
    """Events of a turn, fed one byte or special token at a time."""
    vocabulary = FakeVocabulary(specials)
    parser = StreamParser([SEARCH, LIST], in_reasoning=in_reasoning, markers=SafeEncoder(vocabulary).markers)
    tokens = vocabulary.tokenize(text, special=True)
    events = [event for token in tokens for event in parser.feed(token, vocabulary.piece(token))]
    return merged(events + parser.finish())


def search(**arguments: str) -> str:
    body = "".join(f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n" for key, value in arguments.items())
    return f"<tool_call>search\n{body}</tool_call>\n"


def outcome(text: str) -> ToolCall | str:
    """The only call of a turn, or the problem with it."""
    events = [event for event in parse(text) if isinstance(event, CallFinished | Malformed)]
    assert len(events) == 1
    return events[0].call if isinstance(events[0], CallFinished) else events[0].problem


both_vocabularies = pytest.mark.parametrize("specials", [LAGUNA_SPECIALS, ONLY_EOS])


@both_vocabularies
def test_reasoning_then_text(specials):
    events = parse("\nLet me see.\n</think>\nIt is 4.\n</assistant>", in_reasoning=True, specials=specials)
    assert events == [Reasoning("Let me see."), Text("It is 4.")]


@both_vocabularies
def test_a_call_is_started_filled_and_finished(specials):
    assert parse("\n" + search(pattern="def f", limit="3") + "</assistant>", specials=specials) == [
        CallStarted(0, "search"),
        CallArgument(0, "pattern", "def f"),
        CallArgument(0, "limit", "3"),
        CallFinished(ToolCall("search", {"pattern": "def f", "limit": 3})),
    ]


@both_vocabularies
def test_several_calls_with_text_around_them(specials):
    text = "\nFirst.\n" + search(pattern="a") + "\n<tool_call>list</tool_call>\nThen this.\n</assistant>"
    assert parse(text, specials=specials) == [
        Text("First."),
        CallStarted(0, "search"),
        CallArgument(0, "pattern", "a"),
        CallFinished(ToolCall("search", {"pattern": "a"})),
        CallStarted(1, "list"),
        CallFinished(ToolCall("list", {})),
        Text("Then this."),
    ]


@both_vocabularies
def test_blanks_between_tags_do_not_matter(specials):
    tight = "<tool_call>search<arg_key>pattern</arg_key><arg_value>a</arg_value></tool_call>"
    loose = "<tool_call>\n search \n\n <arg_key> pattern\n</arg_key>\n\n<arg_value>a</arg_value> \n </tool_call>"
    assert parse(tight, specials=specials) == parse(loose, specials=specials)


def test_a_string_is_taken_as_it_stands():
    value = ' "a" < b\n</arg_key> <arg_value> </arg_value> é\\n\n'
    assert outcome(search(pattern=value)) == ToolCall("search", {"pattern": value})


def test_other_types_are_json():
    raw = {
        "pattern": "12",
        "limit": "3.0",
        "ratio": "2",
        "deep": "true",
        "names": '["a", null]',
        "options": '{"a": 1}',
    }
    expected = {"pattern": "12", "limit": 3, "ratio": 2, "deep": True, "names": ["a", None], "options": {"a": 1}}
    assert outcome(search(**raw)) == ToolCall("search", expected)


def test_a_whole_number_is_an_int():
    call = outcome(search(pattern="", limit="3.0"))
    assert isinstance(call, ToolCall)
    assert type(call.arguments["limit"]) is int


def test_a_marker_token_in_a_value_is_part_of_it():
    value = "<think> <tool_call>"
    assert outcome(search(pattern=value)) == ToolCall("search", {"pattern": value})


def test_without_a_type_a_value_is_json_if_it_can_be():
    assert outcome(search(pattern="", anything="[1]")) == ToolCall("search", {"pattern": "", "anything": [1]})
    assert outcome(search(pattern="", anything="a b")) == ToolCall("search", {"pattern": "", "anything": "a b"})


def test_null_is_none_where_the_schema_allows_it():
    assert outcome(search(pattern="null", path="null")) == ToolCall("search", {"pattern": "null", "path": None})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (search(), "`search` needs the argument `pattern`; add it."),
        (search(pattern="a", limit="three"), "the argument `limit` must be JSON of type integer, not `three`."),
        (search(pattern="a", limit="true"), "the argument `limit` must be of type integer, not `true`."),
        (search(pattern="a", limit='"3"'), 'the argument `limit` must be of type integer, not `"3"`.'),
        (search(pattern="a", ratio="NaN"), "the argument `ratio` must be JSON of type number, not `NaN`."),
        (search(pattern="a", deep="True"), "the argument `deep` must be JSON of type boolean, not `True`."),
        ("<tool_call>list\n<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>", "`list` has no argument `a`"),
        ("<tool_call>grep\n</tool_call>", "There is no tool `grep`; the tools are `search`, `list`;"),
        ('<tool_call>{"name": "search"}</tool_call>', "There is no tool"),
        ("<tool_call></tool_call>", "There is no tool ``;"),
        ('<tool_call>search\n{"pattern": "a"}\n</tool_call>', "The call contains text outside of its arguments;"),
        ("<tool_call>search\n<arg_key>pattern</arg_key>\n</tool_call>", "The argument `pattern` has no value;"),
        ("<tool_call>search\n<arg_key>pattern</tool_call>", "The argument `pattern` has no value;"),
        ("<tool_call>search\n<arg_key>pattern</arg_key><arg_value>a</tool_call>", "`pattern` was not closed;"),
        (search(pattern="a").replace("\n</tool", " b</tool"), "`pattern` was not closed;"),
        (search(pattern="a")[:-20], "The tool call was not finished and did not run;"),
        (search(pattern="a")[:-20] + "</assistant>", "The tool call was not finished and did not run;"),
    ],
)
def test_a_call_that_cannot_run_says_what_to_do(text, problem):
    assert problem in outcome(text)


def test_an_argument_given_twice_is_refused():
    twice = "<arg_key>pattern</arg_key><arg_value>a</arg_value>" * 2
    assert outcome(f"<tool_call>search\n{twice}</tool_call>") == "the argument `pattern` was given twice; give it once."


def test_deep_json_is_refused_instead_of_failing():
    assert "must be JSON of type array" in outcome(search(pattern="a", names="[" * 100_000))
    for name, value in (("names", "[" * 65 + "]" * 65), ("options", '{"a":' * 65 + "1" + "}" * 65)):
        said = f"the argument `{name}` is nested too deeply; nest at most 64 lists and objects."
        assert outcome(search(pattern="a", **{name: value})) == said
    assert isinstance(outcome(search(pattern="a", names="[" * 64 + "]" * 64)), ToolCall)


@pytest.mark.parametrize("name", ["limit", "ratio", "deep", "names", "options"])
@pytest.mark.parametrize(
    "value",
    ["9" * 45_000, "-" + "9" * 45_000, "[" + "9" * 45_000 + "]", "1e999", "9" * 4000],
    ids=["unreadable", "negative", "inside", "infinite", "large"],
)
def test_numbers_that_no_machine_reads_are_refused_or_come_back_as_they_were(name, value):
    found = outcome(search(pattern="a", **{name: value}))
    assert isinstance(found, ToolCall) or f"the argument `{name}` must be" in found
    if isinstance(found, ToolCall):
        assert str(found.arguments[name]) == value


def test_an_argument_of_no_type_keeps_digits_that_are_too_many_for_a_number():
    value = "9" * 45_000
    assert outcome(search(pattern="", anything=value)) == ToolCall("search", {"pattern": "", "anything": value})


def test_a_malformed_call_keeps_its_text():
    text = "<tool_call>grep\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\n</tool_call>"
    (event,) = parse(text)
    assert isinstance(event, Malformed)
    assert event.raw == text


def test_a_call_the_model_abandons_for_another_is_malformed():
    events = parse("<tool_call>search\n<tool_call>list\n</tool_call>")
    assert [type(event) for event in events] == [CallStarted, Malformed, CallStarted, CallFinished]


@both_vocabularies
def test_reasoning_inside_a_call_is_reasoning(specials):
    text = search(pattern="a").replace("</tool_call>", "<think>\nSure?\n</think>\n</tool_call>")
    events = parse(text, specials=specials)
    assert events[2:] == [Reasoning("Sure?"), CallFinished(ToolCall("search", {"pattern": "a"}))]


def test_a_call_inside_open_reasoning_is_a_call():
    events = parse("\nI look.\n<tool_call>list</tool_call>\nThen.\n</think>\nDone.", in_reasoning=True)
    expected = [Reasoning("I look."), CallStarted(0, "list"), CallFinished(ToolCall("list", {}))]
    assert events == [*expected, Reasoning("Then."), Text("Done.")]


def test_a_turn_may_end_straight_after_reasoning():
    assert parse("\nHm.\n</think>\n</assistant>", in_reasoning=True) == [Reasoning("Hm.")]


def test_a_second_end_of_reasoning_means_nothing():
    assert parse("</think>\nHi\n</think>\nthere") == [Text("Hi\n\nthere")]


def test_reasoning_that_opens_itself():
    assert parse("<think>\nWhy\n</think>\nBecause") == [Reasoning("Why"), Text("Because")]


def test_a_quoted_tag_is_text_where_the_vocabulary_has_a_token_for_it():
    vocabulary = FakeVocabulary()
    parser = StreamParser([LIST], markers=SafeEncoder(vocabulary).markers)
    quoted = "It calls <tool_call>list</tool_call> and ends with </assistant>."
    events = [event for byte in quoted.encode() for event in parser.feed(byte, bytes([byte]))]
    assert merged(events + parser.finish()) == [Text(quoted)]
    assert parser.ended


def test_an_end_of_turn_spelled_out_after_a_call_ends_the_turn():
    vocabulary = FakeVocabulary()
    parser = StreamParser([LIST], markers=SafeEncoder(vocabulary).markers)
    tokens = vocabulary.tokenize("<tool_call>list</tool_call>", special=True) + list(b"\n</assistant>")
    events = [event for token in tokens for event in parser.feed(token, vocabulary.piece(token))]
    assert events == [CallStarted(0, "list"), CallFinished(ToolCall("list", {}))]
    assert parser.ended
    assert parser.feed(ord("x"), b"x") == parser.finish() == []


@pytest.mark.parametrize("quoted", ["It is </assistant>.", "Now <tool_call>x</assistant>"])
def test_a_quoted_end_of_turn_is_text_once_something_was_said_after_the_call(quoted):
    vocabulary = FakeVocabulary()
    parser = StreamParser([LIST], markers=SafeEncoder(vocabulary).markers)
    tokens = vocabulary.tokenize("<tool_call>list</tool_call>", special=True) + list(quoted.encode())
    events = [event for token in tokens for event in parser.feed(token, vocabulary.piece(token))]
    assert merged(events + parser.finish())[2:] == [Text(quoted)]


def test_an_end_of_turn_in_a_later_calls_value_is_part_of_it():
    vocabulary = FakeVocabulary()
    parser = StreamParser([SEARCH, LIST], markers=SafeEncoder(vocabulary).markers)
    tokens = vocabulary.tokenize("<tool_call>list</tool_call>" + search(pattern="@"), special=True)
    at = tokens.index(ord("@"))
    tokens[at : at + 1] = b"</assistant>"
    events = [event for token in tokens for event in parser.feed(token, vocabulary.piece(token))]
    assert events[-1] == CallFinished(ToolCall("search", {"pattern": "</assistant>"}))


def test_what_was_held_back_comes_before_the_tag_that_ended_it():
    assert parse("\na <<tool_call>list</tool_call>")[0] == Text("a <")


def test_text_is_reported_as_soon_as_no_tag_can_begin_with_it():
    parser = StreamParser([])
    assert parser.feed(0, b"\nif a <") == [Text("if a")]
    assert parser.feed(0, b" b:\n") == [Text(" < b:")]
    assert parser.feed(0, "é".encode()[:1]) == []
    assert parser.feed(0, "é".encode()[1:] + b" <ta") == [Text("\né <ta")]


def test_an_escaped_marker_the_model_copies_is_the_real_text_again():
    assert parse("\nSee <\\user> here") == [Text("See <user> here")]
    assert outcome(search(pattern="<\\/arg_value>")) == ToolCall("search", {"pattern": "</arg_value>"})


FRAGMENTS = [
    *LAGUNA_SPECIALS,
    *("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "search", "list", "pattern", "limit", "12"),
    *("\n", " ", "<", "</", "\\", "<\\user>", "é", "text", "<user>"),
    search(pattern="a"),
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join), st.booleans(), st.data())
def test_any_split_of_a_stream_gives_the_same_events(text, in_reasoning, data):
    whole = StreamParser([SEARCH, LIST], in_reasoning=in_reasoning)
    pieces = StreamParser([SEARCH, LIST], in_reasoning=in_reasoning)
    expected = merged(whole.feed(0, text.encode()) + whole.finish())
    events, rest = [], text.encode()
    while rest:
        size = data.draw(st.integers(1, min(len(rest), 9)))
        events += pieces.feed(0, rest[:size])
        rest = rest[size:]
    assert merged(events + pieces.finish()) == expected


values = st.text() | st.lists(st.sampled_from(FRAGMENTS), max_size=5).map("".join)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | values,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(values, inner, max_size=3),
    max_leaves=5,
)
calls = st.builds(
    lambda pattern, optional: ToolCall("search", {"pattern": pattern, **optional}),
    values,
    st.fixed_dictionaries(
        {},
        optional={
            "limit": st.integers(),
            "deep": st.booleans(),
            "names": st.lists(json_values, max_size=3),
            "options": st.dictionaries(values, json_values, max_size=3),
        },
    ),
)


@given(
    st.lists(calls, max_size=3),
    values.map(str.strip),
    values.map(str.strip),
    st.sampled_from(Family),
    st.sampled_from([LAGUNA_SPECIALS, ONLY_EOS]),
)
def test_what_is_rendered_is_parsed_back(made, text, reasoning, family, specials):
    vocabulary = FakeVocabulary(specials)
    encoder = SafeEncoder(vocabulary)
    turn = AssistantMessage(text, reasoning, tuple(made))
    tokens = Renderer(encoder, family, thinking=True).assistant(turn)
    parser = StreamParser([SEARCH, LIST], markers=encoder.markers)
    opening = len(encoder.encode_markup("<assistant>"))
    events = merged([event for token in tokens[opening:] for event in parser.feed(token, vocabulary.piece(token))])
    assert [event.call for event in events if isinstance(event, CallFinished)] == made
    assert [event.text for event in events if isinstance(event, Reasoning)] == [reasoning] * bool(reasoning)
    assert [event.text for event in events if isinstance(event, Text)] == [text] * bool(text)
