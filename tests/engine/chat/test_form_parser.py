"""Turns with calls in the forms of other families, whichever pieces they come in."""

import pytest

from laguna_engine.chat.call_form import HERMES, LAGUNA, CallForm, FormKind
from laguna_engine.chat.form_parser import FormParser
from laguna_engine.chat.known_markup import ThinkTags, TurnMarkup, known_markup, think_tags
from laguna_engine.chat.messages import CallFinished, Malformed, Reasoning, Text, ToolCall, ToolSpec

TYPES = {"path": "string", "first": "integer", "where": "object"}
READ = ToolSpec("read", "", {"type": "object", "properties": {name: {"type": each} for name, each in TYPES.items()}})
THINK = ThinkTags("<think>", "</think>")
CODER = CallForm(
    FormKind.TAGGED,
    "<tool_call>\n<function=",
    "</function>\n</tool_call><|im_end|>\n",
    "</function>\n</tool_call>\n<tool_call>\n<function=",
    ">\n",
    "<parameter=",
    (">\n", ">\n"),
    "\n</parameter>\n",
)
LLAMA = CallForm(FormKind.JSON, "", "<|eot_id|>", keys=("name", "parameters"))
PYTHON = CallForm(FormKind.PYTHON, "<|tool_call_start|>[", "]<|tool_call_end|><|im_end|>\n", ", ")
GEMMA = CallForm(FormKind.QUOTED, "<|tool_call>call:", "<tool_call|>", "<tool_call|><|tool_call>call:")
GRANITE = CallForm(FormKind.JSON, "<|tool_call|>[", "]", ", ")
HERMES_CALL = '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>'
GPT_OSS = known_markup("<|channel|>analysis")


def parsed(text, *forms, size=10**6, **options):
    """The events of a turn in pieces of `size` bytes, with adjacent texts joined."""
    parser = FormParser((READ,), forms, **options)
    data = text.encode()
    events = [event for at in range(0, len(data), size) for event in parser.feed(0, data[at : at + size])]
    joined = []
    for event in [*events, *parser.finish()]:
        if isinstance(event, Text | Reasoning) and joined and type(joined[-1]) is type(event):
            joined[-1] = type(event)(joined[-1].text + event.text)
        else:
            joined.append(event)
    return joined


def call(**arguments):
    return CallFinished(ToolCall("read", arguments))


@pytest.mark.parametrize("size", [1, 2, 5, 10**6])
@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        (HERMES, f"I look.\n{HERMES_CALL}", [Text("I look.\n"), call(path="a.py")]),
        (HERMES, f"{HERMES_CALL}\n{HERMES_CALL}\n", [call(path="a.py"), call(path="a.py")]),
        (HERMES, f"{HERMES_CALL}\nDone.", [call(path="a.py"), Text("Done.")]),
        (HERMES, HERMES_CALL.replace("\n", ""), [call(path="a.py")]),
        (HERMES, HERMES_CALL.replace("\n", "\n\n"), [call(path="a.py")]),
        (LAGUNA, "<tool_call>read<arg_key>first</arg_key><arg_value>3</arg_value></tool_call>", [call(first=3)]),
        (
            CODER,
            "<tool_call>\n<function=read>\n<parameter=path>\n</parameter>\n\n</parameter>\n</function>\n</tool_call>",
            [call(path="</parameter>\n")],
        ),
        (
            CODER,
            "<tool_call>\n<function=read>\n<parameter=where>\n{'a': None}\n</parameter>\n</function>\n</tool_call>",
            [call(where={"a": None})],
        ),
        (LLAMA, '{"name": "read", "parameters": {"path": "}"}}', [call(path="}")]),
        (LLAMA, '<|python_tag|>{"name": "read", "parameters": {"first": 1}}', [call(first=1)]),
        (LLAMA, '{"name": "read", "parameters": {}}; {"name": "read", "parameters": {}}', [call(), call()]),
        (PYTHON, "<|tool_call_start|>[read(path='a\\n', first=1)]<|tool_call_end|>", [call(path="a\n", first=1)]),
        (PYTHON, "<|tool_call_start|>[read(), read(first=2)]<|tool_call_end|>", [call(), call(first=2)]),
        (
            PYTHON,
            "<|tool_call_start|>[read(path='it's (\n', where={\"a\": true})]<|tool_call_end|>",
            [call(path="it's (\n", where={"a": True})],
        ),
        (
            PYTHON,
            """<|tool_call_start|>[read(path="f(\\"a\\"), g(\\"b\\")]", where=null, first=1)]<|tool_call_end|>""",
            [call(path='f("a"), g("b")]', first=1)],
        ),
        (PYTHON, r"<|tool_call_start|>read(path='a\n')<|tool_call_end|>", [call(path="a\n")]),
        (HERMES, HERMES_CALL.replace('{"path": "a.py"}', "null"), [call()]),
        (HERMES, HERMES_CALL.replace(', "arguments": {"path": "a.py"}', ""), [call()]),
        (HERMES, HERMES_CALL.replace('{"path": "a.py"}', r'"{\"path\": \"a.py\"}"'), [call(path="a.py")]),
        (HERMES, HERMES_CALL.replace("a.py", r"\ud83d\ude42 \ud800"), [call(path="🙂 �")]),
        (HERMES, HERMES_CALL.replace('"a.py"', "null"), [call()]),
        (GRANITE, '<|tool_call|>{"name": "read", "arguments": {"path": "a"}}', [call(path="a")]),
        (
            GRANITE,
            '<|tool_call|>[{"name": "read", "arguments": {}}, {"name": "read", "arguments": {"first": 1}}]',
            [call(), call(first=1)],
        ),
        (
            GEMMA,
            '<|tool_call>call:read{path:<|"|>a: "{"<|"|>,first:2}<tool_call|>',
            [call(path='a: "{"', first=2)],
        ),
    ],
)
def test_calls_are_found_in_pieces_of_any_size(form, text, expected, size):
    assert parsed(text, form, size=size) == expected


def test_a_text_that_looks_like_a_number_stays_text_where_no_type_is_given():
    tool = ToolSpec("read", "", {"type": "object", "properties": {"path": {}}})
    parser = FormParser((tool,), (HERMES,))
    assert [*parser.feed(0, HERMES_CALL.replace("a.py", "12").encode()), *parser.finish()] == [call(path="12")]


@pytest.mark.parametrize("size", [1, 4, 10**6])
@pytest.mark.parametrize(
    ("form", "text"),
    [
        (HERMES, f"It writes {HERMES_CALL}"),
        (HERMES, HERMES_CALL.replace("read", "elsewhere")),
        (HERMES, '```json\n{"name": "read", "arguments": {"path": "a.py"}}\n```'),
        (LLAMA, '```json\n{"name": "read", "parameters": {"path": "a.py"}}\n```'),
        (LLAMA, 'Call it so:\n{"name": "read", "parameters": {"path": "a.py"}}'),
        (LLAMA, '{"answer": 42}'),
        (CODER, "Use <tool_call> and <function=."),
        (PYTHON, "read(path='a.py')"),
        (HERMES, "<tool"),
        (HERMES, "1 < 2, <b>bold</b>"),
    ],
)
def test_what_is_no_call_stays_text(form, text, size):
    assert parsed(text, form, size=size) == [Text(text)]


def test_a_special_token_opens_a_call_within_a_line():
    assert parsed(f"Now {HERMES_CALL}", HERMES, special=["<tool_call>"]) == [Text("Now "), call(path="a.py")]


@pytest.mark.parametrize("size", [1, 10**6])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            HERMES_CALL.replace("}}", "}"),
            "The tool call is not valid JSON (Expecting ',' delimiter: line 3 column 1 (char 59)); "
            "make the call again.",
        ),
        (
            HERMES_CALL.replace('{"path": "a.py"}', "3"),
            "The tool call is not valid JSON (it needs `name`, and an object as `arguments`); make the call again.",
        ),
        (HERMES_CALL.replace("path", "file"), "`read` has no argument `file`; it takes `path`, `first`, `where`."),
        (
            '<tool_call>\n{"name": "read", "arguments": {"path": "a',
            "The tool call was not finished and did not run; make the whole call again.",
        ),
    ],
)
def test_a_wrong_call_of_a_tool_is_reported(text, problem, size):
    (found,) = parsed(text, HERMES, size=size)
    assert isinstance(found, Malformed)
    assert found.problem == problem
    assert text.startswith(found.raw)


@pytest.mark.parametrize("size", [1, 10**6])
def test_reasoning_is_opened_by_the_prompt_or_the_model(size):
    call_in_thought = f"{HERMES_CALL} would be one"
    expected = [Reasoning(call_in_thought), Text("Yes.")]
    whole = f"<think>\n{call_in_thought}\n</think>\n\nYes."
    assert parsed(whole, HERMES, size=size, thinking=THINK) == expected
    assert parsed(whole.removeprefix("<think>\n"), HERMES, size=size, thinking=THINK, in_reasoning=True) == expected


@pytest.mark.parametrize("size", [1, 10**6])
@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (f"Hm.\n{HERMES_CALL}\n{HERMES_CALL}", 2),
        (f"Hm.\n{HERMES_CALL}\nOr not.", 0),
        (f"Hm, I write {HERMES_CALL}", 0),
        (f"Hm.\n{HERMES_CALL.replace('read', 'elsewhere')}", 0),
    ],
)
def test_calls_count_at_the_end_of_reasoning_that_was_never_closed(text, calls, size):
    thinking = ThinkTags("<think>", "</think>")
    assert parsed(text, HERMES, thinking=thinking, in_reasoning=True, size=size) == [
        Reasoning(text),
        *[call(path="a.py")] * calls,
    ]
    closed = parsed(f"{text}</think>", HERMES, thinking=thinking, in_reasoning=True, size=size)
    assert closed == [Reasoning(text)]


@pytest.mark.parametrize("size", [1, 10**6])
@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        ("<|channel|>final<|message|>Done <|x|>.", Text("Done <|x|>.")),
        ('<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"first": 1}', call(first=1)),
        (' to=functions.read<|channel|>commentary json<|message|>{"first": 1}', call(first=1)),
    ],
)
def test_the_channels_of_gpt_oss(behind, expected, size):
    text = f"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant{behind}"
    tags = ThinkTags("<|channel|>analysis<|message|>", "<|end|>")
    special = ("<|channel|>", "<|start|>", "<|end|>", "<|message|>")
    found = parsed(text, *GPT_OSS.forms, size=size, thinking=tags, dropped=GPT_OSS.dropped, special=special)
    assert found == [Reasoning("Hm."), expected]


def test_without_tools_all_is_text():
    parser = FormParser((), (HERMES,))
    assert [*parser.feed(0, HERMES_CALL.encode()), *parser.finish()] == [Text(HERMES_CALL)]


def test_a_long_call_takes_time_in_proportion():
    """A call of 40,000 tokens is not read again at each of them."""
    text = HERMES_CALL.replace("a.py", "x = 1\\n" * 40_000)
    (found,) = parsed(text, HERMES, size=7)
    assert isinstance(found, CallFinished)


@pytest.mark.parametrize(
    ("source", "tokens"),
    [
        ("<think>", ("<think>", "</think>")),
        ("<|channel>thought\n <channel|>", ("<|channel>", "<channel|>")),
        ("[THINK]", ("[THINK]", "[/THINK]")),
        ("<|channel|>analysis<|message|>", ("<|channel|>analysis<|message|>", "<|end|>")),
        ("no thoughts", ("", "")),
    ],
)
def test_the_tokens_that_a_thinking_budget_counts_between(source, tokens):
    assert TurnMarkup((), think_tags(source), known_markup(source).dropped).thinking_tokens == tokens
