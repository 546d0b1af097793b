"""Detects how a model writes tool calls: a call with known name, keys and values is rendered by its chat template, and
the text around them is its form.

Nearly all templates use one of four forms; Gemma 4 has one of its own:

    JSON          <tool_call>\\n{"name": N, "arguments": {K: V, …}}\\n</tool_call>
    name + JSON   [TOOL_CALLS]N[ARGS]{K: V, …}
    tagged        <function=N>\\n<parameter=K>\\nV\\n</parameter>\\n</function>
    Python        <|tool_call_start|>[N(K=V, …)]<|tool_call_end|>
    quoted        <|tool_call>call:N{K:<|"|>V<|"|>, …}<tool_call|>

What differs from call to call (an identifier, a number, the name again) is `VARIABLE` in a form's texts.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from laguna_engine.chat.chat_template import TemplateFailed

NAME, KEYS, TEXT, NUMBER = "probe_tool", ("probe_key", "probe_other"), "probe text", 31415926
_USER, RESULT = "probe question", "probe result"


class FormKind(Enum):
    """How name and arguments of a call are written."""

    JSON = "JSON"
    NAMED_JSON = "name and JSON"
    TAGGED = "tagged"
    PYTHON = "Python"
    QUOTED = "quoted"


VARIABLE = "\ufffc"
"""A placeholder for what differs from call to call; no template writes this character."""

QUOTE = '<|"|>'
"""Encloses strings in Gemma 4's calls."""


@dataclass(frozen=True, slots=True)
class CallForm:
    """The form of a model's calls.

    Attributes:
        kind: how name and arguments are written.
        opens: the text before the first call of a turn; empty if a call is the whole turn.
        closes: the text after the last call, including what the template writes after the turn.
        between: the text between two calls; empty if a turn has one call only.
        after_name: the text after the name (name and JSON, tagged).
        key_opens, value_closes: the text before each key and after its value (tagged).
        key_closes: the text between key and value, for strings and for other types (tagged).
        keys: the keys of the name and of the arguments (JSON).
        escaped: whether markers in values are escaped by a backslash, as Laguna's are.
    """

    kind: FormKind
    opens: str
    closes: str
    between: str = ""
    after_name: str = ""
    key_opens: str = ""
    key_closes: tuple[str, str] = ("", "")
    value_closes: str = ""
    keys: tuple[str, str] = ("name", "arguments")
    escaped: bool = False

    @property
    def call_closes(self) -> str:
        """The text that closes each call; `closes` without what closes a list of calls."""
        if not self.between:
            return self.closes
        return _whole_tags(common_start(self.between, self.closes))

    @property
    def next_opens(self) -> str:
        """The text that opens the second and later calls of a turn."""
        return self.between.removeprefix(self.call_closes)


HERMES = CallForm(FormKind.JSON, "<tool_call>\n", "\n</tool_call>", "\n</tool_call>\n<tool_call>\n")
"""The form of Hermes and Qwen, the most frequent one."""

LAGUNA = CallForm(
    FormKind.TAGGED,
    "<tool_call>",
    "</tool_call>",
    "</tool_call>\n<tool_call>",
    key_opens="<arg_key>",
    key_closes=("</arg_key>\n<arg_value>", "</arg_key>\n<arg_value>"),
    value_closes="</arg_value>",
    escaped=True,
)
"""The form of Laguna; GLM's is the same without escapes."""

Render = Callable[[Sequence[Mapping[str, object]], Sequence[Mapping[str, object]]], str]
"""Renders messages and tools; raises TemplateFailed."""


def probe_tools() -> list[Mapping[str, object]]:
    """Return the tool that probes call."""
    properties = {
        KEYS[0]: {"type": "string", "description": "A text."},
        KEYS[1]: {"type": "integer", "description": "A number."},
    }
    schema = {"type": "object", "properties": properties, "required": list(KEYS)}
    return [{"type": "function", "function": {"name": NAME, "description": "Probes.", "parameters": schema}}]


def probe(calls: int) -> list[Mapping[str, object]]:
    """Return a conversation in which the model makes this many calls."""
    made = [
        {"id": f"call0000{index}", "type": "function",
         "function": {"name": NAME, "arguments": {KEYS[0]: TEXT, KEYS[1]: NUMBER}}}
        for index in range(calls)
    ]  # fmt: skip
    results = [
        {"role": "tool", "tool_call_id": f"call0000{index}", "name": NAME, "content": RESULT} for index in range(calls)
    ]
    return [{"role": "user", "content": _USER}, {"role": "assistant", "content": "", "tool_calls": made}, *results]


def read_form(render: Render) -> CallForm | None:
    """Return the form of the calls that a template writes; None if it writes none, or in an unknown form.

    Raises:
        TemplateFailed: the template refuses a conversation with one call.
    """
    one = _after_question(render(probe(1), probe_tools()))
    if NAME not in one or TEXT not in one:
        return None
    answered = render([{"role": "user", "content": _USER}, {"role": "assistant", "content": RESULT}], probe_tools())
    opening = _whole_tags(common_start(one, _after_question(answered)))
    opened = len(opening) + len(_leading_thoughts(one[len(opening) :]))
    for read in (_quoted, _json, _named_json, _python, _tagged):
        found = read(one, one.index(TEXT))
        if found is not None:
            form, start, end = found
            form = replace(form, opens=_variable(one[opened:start]), closes=one[end:])
            if not form.opens.strip() and form.kind is not FormKind.JSON:
                # Any text might be the name.
                return None
            return replace(form, between=_between(render))
    return None


def _after_question(text: str) -> str:
    """Return the text between the question and the first result."""
    return text.rpartition(_USER)[2].partition(RESULT)[0]


def _leading_thoughts(text: str) -> str:
    """Return the empty thinking tags at the start of a turn, with the blanks around them."""
    found = re.match(r"\s*(?:<think>\s*</think>|<\|START_THINKING\|><\|END_THINKING\|>)", text)
    return found[0] if found else ""


def _between(render: Render) -> str:
    """Return the text between two calls; empty if the template refuses two."""
    try:
        two = _after_question(render(probe(2), probe_tools()))
    except TemplateFailed:
        return ""
    first = two.find(TEXT)
    if first < 0 or two.find(TEXT, first + 1) < 0:
        return ""
    for read in (_quoted, _json, _named_json, _python, _tagged):
        one, other = read(two, first), read(two, two.index(TEXT, first + 1))
        if one is not None and other is not None:
            return _variable(two[one[2] : other[1]])
    return ""


_Found = tuple[CallForm, int, int]
"""A form without the text around a call, and the start and end of the call in the text."""


def _decoded(text: str, at: int) -> tuple[dict[str, object], int] | None:
    """Return the JSON object at an offset and its end."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, at)
    except ValueError:
        return None
    return (value, end) if isinstance(value, dict) else None


def _json(text: str, place: int) -> _Found | None:
    """Find `{"name": N, "arguments": {…}}` around an offset."""
    at = text.rfind("{", 0, text.rfind("{", 0, place))
    while at >= 0:
        value, end = _decoded(text, at) or ({}, 0)
        name = next((key for key, each in value.items() if each == NAME), None)
        arguments = next((key for key, each in value.items() if isinstance(each, dict) and KEYS[0] in each), None)
        if name is not None and arguments is not None:
            return CallForm(FormKind.JSON, "", "", keys=(name, arguments)), at, end
        at = text.rfind("{", 0, at)
    return None


def _named_json(text: str, place: int) -> _Found | None:
    """Find `N`, some text, `{…}`."""
    at, start = text.rfind("{", 0, place), text.rfind(NAME, 0, place)
    value, end = _decoded(text, at) or ({}, 0) if at >= 0 else ({}, 0)
    if list(value) != list(KEYS) or start < 0:
        return None
    return CallForm(FormKind.NAMED_JSON, "", "", after_name=_variable(text[start + len(NAME) : at])), start, end


def _quoted(text: str, place: int) -> _Found | None:
    """Find `N{K:<|"|>V<|"|>, …}`."""
    start, end = text.rfind(NAME, 0, place), text.find("}", place) + 1
    if not text.startswith(QUOTE, place + len(TEXT)) or start < 0 or not end:
        return None
    return CallForm(FormKind.QUOTED, "", ""), start, end


def _python(text: str, place: int) -> _Found | None:
    """Find `N(K='V', …)`."""
    start, end = text.rfind(NAME, 0, place), text.find(")", place) + 1
    if start < 0 or not end or not text.startswith(f"({KEYS[0]}=", start + len(NAME)):
        return None
    return CallForm(FormKind.PYTHON, "", ""), start, end


def _tagged(text: str, place: int) -> _Found | None:
    """Find keys and values between tags."""
    start, key = text.rfind(NAME, 0, place), text.rfind(KEYS[0], 0, place)
    other = text.find(KEYS[1], place)
    number = text.find(str(NUMBER), other)
    if not 0 <= start < key or not place < other < number:
        return None
    to_key, to_other = text[start + len(NAME) : key], text[place + len(TEXT) : other]
    end = number + len(str(NUMBER))
    value_closes = _whole_tags(common_start(to_other, text[end:]))
    key_opens = to_other.removeprefix(value_closes)
    key_closes = text[key + len(KEYS[0]) : place], text[other + len(KEYS[1]) : number]
    if not to_key.endswith(key_opens) or not all(each.strip() for each in (value_closes, key_opens, *key_closes)):
        return None
    form = CallForm(
        FormKind.TAGGED,
        "",
        "",
        after_name=_variable(to_key.removesuffix(key_opens)),
        key_opens=key_opens,
        key_closes=key_closes,
        value_closes=value_closes,
    )
    return form, start, end + len(value_closes)


def _variable(text: str) -> str:
    """Replace what differs from call to call by `VARIABLE`."""
    return re.sub(rf"{NAME}|call0000\d|(?<![\w.])\d+(?!\w)", VARIABLE, text)


def common_start(one: str, other: str) -> str:
    """Return the common prefix of two texts."""
    size = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:size]


def _whole_tags(text: str) -> str:
    """Return a text without an incomplete tag at its end."""
    at = max(text.rfind("<"), text.rfind("[") if text.endswith("[") else -1)
    return text if at < 0 or ">" in text[at:] else text[:at]
