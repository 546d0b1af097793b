"""Reads one call at an offset of a text, by its form (`call_form`).

Blanks between tags may differ from the template's. Only `Incomplete` and `Wrong` are raised.
"""

import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import dropwhile

from laguna_engine.chat.call_arguments import NO_LITERAL, literal
from laguna_engine.chat.call_form import QUOTE, VARIABLE, CallForm, FormKind, common_start

_VARIABLE_CHARS = 200
"""Most characters of a variable part, and between a name and its JSON."""

PYTHON_TAG = "<|python_tag|>"
"""May precede Llama's calls, which have no opening otherwise."""


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call.

    Attributes:
        name: the tool.
        arguments: values by name; pairs of name and text where the form has no types.
        end: the end of the call in the text.
    """

    name: str
    arguments: Mapping[str, object] | Sequence[tuple[str, str]]
    end: int


class Incomplete(Exception):
    """More text is needed."""


class Wrong(Exception):
    """The text is not a call of this form; the message is written for the model."""


Marks = Sequence[str | None]


class Shape:
    """A form as marks: its tags and words, between which blanks may differ.

    Attributes:
        form: the form.
        opens, next_opens: the marks before the first call and later ones; None for a variable part.
        call_closes, tags: the marks after each call, and those of them that are tags.
        closing: what may follow the last call without being text.
    """

    def __init__(self, form: CallForm) -> None:
        self.form = form
        # The words before the first tag belong to a header, which the prompt may already have.
        whole = _marks(form.opens)
        self.opens = list(dropwhile(lambda mark: mark is None or not _is_tag(mark), whole)) or whole
        self.next_opens = _marks(form.next_opens)
        self.call_closes = [mark for mark in _marks(form.call_closes) if mark is not None]
        closing = [mark for mark in _marks(form.closes) if mark is not None]
        self.tags = [mark for mark in self.call_closes if _is_tag(mark)] or [mark for mark in closing if _is_tag(mark)]
        # Brackets may come one by one; a tag may consist of two with a word between them.
        signs = {sign for mark in closing if not _is_tag(mark) for sign in mark if not sign.isalnum()}
        self.closing = [*re.findall(r"<[^<>]*>(?:\w+<[^<>]*>)?", form.closes), *signs]

    @property
    def trigger(self) -> str:
        """The text that marks the beginning of a call."""
        return self.opens[0] or "" if self.opens else ""

    def continues(self, text: str) -> bool:
        """Return whether another call may begin with `text`."""
        return bool(self.next_opens) or (self.form.kind is FormKind.JSON and text.startswith("{"))


def _marks(text: str) -> list[str | None]:
    """Return the tags and words of a form's text."""
    return [
        None if mark == VARIABLE else mark
        for mark in re.findall(
            rf"{VARIABLE}|<[^<>{VARIABLE}]*>?|\[[A-Z_/]+\]|[^\s<\[{VARIABLE}]+|\[", text.strip("\r\n")
        )
    ]


def _is_tag(mark: str) -> bool:
    return mark[0] in "<[" and len(mark) > 1


def _blank(text: str, at: int) -> int:
    """Return the offset of the next character that is not blank."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def skipped(marks: Marks, text: str, at: int) -> int | None:
    """Return the offset after these marks; None if the text does not have them.

    Raises:
        Incomplete: more text is needed to decide.
    """
    if not marks and text.startswith(PYTHON_TAG):
        return len(PYTHON_TAG)
    for number, mark in enumerate(marks):
        if mark is None:
            behind = marks[number + 1] if number + 1 < len(marks) else None
            found = text.find(behind, at, at + _VARIABLE_CHARS) if behind else at
            if found < 0 and len(text) - at < _VARIABLE_CHARS:
                raise Incomplete
            if found < 0:
                return None
            at = found
            continue
        start = at if text.startswith(mark, at) else _blank(text, at)
        if text.startswith(mark, start):
            at = start + len(mark)
        elif mark.startswith(text[start:]):
            raise Incomplete
        elif mark != "[":
            # A single call may come without a list.
            return None
    return at


def read_call(shape: Shape, text: str, at: int, *, last: bool) -> WrittenCall:
    """Read the call whose opening ends at an offset. last: whether no text follows."""
    match shape.form.kind:
        case FormKind.JSON:
            return _read_json(shape, text, at)
        case FormKind.NAMED_JSON:
            return _read_named(shape, text, at)
        case FormKind.QUOTED:
            return _read_quoted(text, at)
        case FormKind.PYTHON:
            return _read_python(shape, text, at, last=last)
        case FormKind.TAGGED:
            return _read_tagged(shape, text, at)


def _read_json(shape: Shape, text: str, at: int) -> WrittenCall:
    form = shape.form
    value, end = _value(text, at, shape.tags)
    name = value.get(form.keys[0])
    # Some models use another family's key, write the object as a string, or leave out empty arguments.
    arguments = next((value[key] for key in (form.keys[1], "arguments", "parameters") if key in value), None)
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments, strict=False)
    elif arguments is None and shape.opens:
        arguments = {}
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise Wrong(f"The tool call is not valid JSON (it needs `{form.keys[0]}`, and an object as `{form.keys[1]}`)")
    return WrittenCall(name, arguments, end)


def _value(text: str, at: int, tags: Sequence[str]) -> tuple[Mapping[str, object], int]:
    """Return the JSON object at an offset and its end. tags: a call with one of these after it is not continued."""
    start = _blank(text, at)
    if start == len(text):
        raise Incomplete
    if text[start] != "{":
        raise Wrong("The tool call is not valid JSON (it is not an object)")
    closed = _close(text, start, _JSON_STRUCTURE)
    if closed is None and not any(tag in _STRING.sub("", text[start:]) for tag in tags):
        raise Incomplete
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise Wrong(f"The tool call is not valid JSON ({error})") from error
    return value, end


_STRING = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
_JSON_STRUCTURE = re.compile(rf"{_STRING.pattern}|[{{}}\[\]]", re.DOTALL)
_PYTHON_STRUCTURE = re.compile(
    rf"{_STRING.pattern}|{_STRING.pattern.replace(chr(34), chr(39))}|[{{}}\[\]()]", re.DOTALL
)


def _close(text: str, start: int, structure: re.Pattern[str]) -> int | None:
    """Return the end of the brackets that open at `start`; None if they are still open."""
    depth = 0
    for found in structure.finditer(text, start):
        if found[0][0] not in "'\"":
            depth += 1 if found[0] in "{[(" else -1
        if not depth:
            return found.end()
    return None


_NAME = re.compile(r"\s*([^\s<>\[\]{}:\"'(]+)")


def _read_named(shape: Shape, text: str, at: int) -> WrittenCall:
    found, brace = _NAME.match(text, at), text.find("{", at)
    if brace < 0:
        if len(text) - at < _VARIABLE_CHARS:
            raise Incomplete
        raise Wrong("The tool call has no JSON object with arguments")
    if found is None or found.end() > brace or brace - found.end() > _VARIABLE_CHARS:
        raise Wrong("The tool call has no name")
    value, end = _value(text, brace, shape.tags)
    return WrittenCall(found[1], value, end)


_QUOTED = re.compile(
    rf"""
    {re.escape(QUOTE)} (?P<text>.*?) (?P<closes>{re.escape(QUOTE)} | \Z)
    | {_STRING.pattern}
    | (?P<key>[\w.\-]+) (?=\s*:)
    | \bNone\b
    | [{{}}\[\]]
    """,
    re.DOTALL | re.VERBOSE,
)


def _read_quoted(text: str, at: int) -> WrittenCall:
    """Read `N{K:<|"|>V<|"|>, …}` by converting it to JSON."""
    found, brace = _NAME.match(text, at), text.find("{", at)
    if brace < 0:
        raise Incomplete
    if found is None or found.end() != brace:
        raise Wrong("The tool call has no name")
    depth, place, parts = 0, brace, list[str]()
    for each in _QUOTED.finditer(text, brace):
        parts.append(text[place : each.start()])
        place = each.end()
        if each["closes"] is not None:
            parts.append(json.dumps(each["text"]))
        elif each["key"] is not None:
            parts.append(json.dumps(each["key"]))
        else:
            parts.append("null" if each[0] == "None" else each[0])
            depth += (each[0] in "{[") - (each[0] in "}]")
            if not depth:
                break
    if depth:
        raise Incomplete
    try:
        return WrittenCall(found[1], json.loads("".join(parts), strict=False), place)
    except (ValueError, RecursionError) as error:
        raise Wrong(f"The tool call's arguments cannot be read ({error})") from error


_NOT_PYTHON = "The tool call is not written as NAME(key=value, …)"
_PYTHON_NAME = re.compile(r"\s*([\w.\-]+)\(")
_PYTHON_KEY = re.compile(r"\s*([\w.\-]+)\s*=\s*")
_PYTHON_VALUE_ENDS = re.compile(rf"(?=\s*(?:,{_PYTHON_KEY.pattern}|\Z))")


def _read_python(shape: Shape, text: str, at: int, *, last: bool) -> WrittenCall:
    """Read `N(K=V, …)`: as Python, or with strings that are not escaped, as some templates write them."""
    found = _PYTHON_NAME.match(text, at)
    if found is None:
        if re.fullmatch(r"\s*[\w.\-]*", text[at:]):
            raise Incomplete
        raise Wrong(_NOT_PYTHON)
    start, end = found.end(), _close(text, found.end() - 1, _PYTHON_STRUCTURE)
    closed = any(tag in text for tag in shape.tags)
    if end is not None:
        if end == len(text.rstrip()) and not last:
            raise Incomplete
        arguments = _python_arguments(text[start : end - 1], literal)
        follows = text.startswith((",", "]", *shape.tags), _blank(text, end)) or end == len(text.rstrip())
        if arguments is not None and follows:
            return WrittenCall(found[1], arguments, end)
    elif not last and shape.tags and not closed:
        raise Incomplete
    # Without escapes the end of a string is ambiguous, so the closing tag or another call must follow.
    tags = "|".join([*map(re.escape, shape.tags), *([r"\Z"] if last else [])])
    for bracket in re.finditer(rf"\)(?=\s*\]?\s*(?:{tags})|\s*,{_PYTHON_NAME.pattern})", text[start:]):
        arguments = _python_arguments(text[start : start + bracket.start()], _unescaped)
        if arguments is not None:
            return WrittenCall(found[1], arguments, start + bracket.end())
    if end is None or not closed:
        raise Incomplete
    raise Wrong(_NOT_PYTHON)


def _python_arguments(text: str, read: Callable[[str], object]) -> Mapping[str, object] | None:
    """Parse `K=V, …`; None if it is something else. read: parses a value, or raises one of `NO_LITERAL`."""
    given: dict[str, object] = {}
    at = 0
    while found := _PYTHON_KEY.match(text, at):
        for end in _PYTHON_VALUE_ENDS.finditer(text, found.end()):
            try:
                given[found[1]] = read(text[found.end() : end.start()])
            except NO_LITERAL:
                continue
            at = _blank(text, end.start())
            break
        else:
            return None
        if at == len(text):
            return given
        at += 1
    return given if not text[at:].strip() else None


def _unescaped(written: str) -> object:
    """Parse a literal whose string is not escaped."""
    if len(written) > 1 and written[0] in "'\"" and written[-1] == written[0]:
        return written[1:-1]
    return literal(written)


def _read_tagged(shape: Shape, text: str, at: int) -> WrittenCall:
    form = shape.form
    opens = form.key_opens.strip()
    first = next(iter(shape.call_closes), opens)
    head = _marks(form.after_name)
    ends = [mark for mark in (head[0] if head else None, opens, first) if mark]
    places = [place for mark in ends if (place := text.find(mark, at)) >= 0]
    if not places:
        raise Incomplete
    name, at = text[at : min(places)].strip(), min(places)
    behind = skipped(head, text, at)
    at = at if behind is None else behind
    given: list[tuple[str, str]] = []
    while True:
        at = _blank(text, at)
        if text.startswith(opens, at):
            key, at = _key(form, text, at + len(opens))
            value, at = _tagged_value(form, text, at, opens, first)
            given.append((key.strip(), value))
        elif text.startswith(first, at):
            return WrittenCall(name, given, at)
        elif opens.startswith(text[at:]) or first.startswith(text[at:]):
            raise Incomplete
        else:
            raise Wrong("The tool call contains text outside of its arguments")


def _key(form: CallForm, text: str, at: int) -> tuple[str, int]:
    """Return the key at an offset and the start of its value. The tags of some keys also name the value's type."""
    one, other = form.key_closes
    if one == other:
        mark, *marks = _marks(one)
        key, at = _until(text, at, mark or "")
        behind = skipped(marks, text, at)
        if behind is None:
            raise Wrong("The tool call's argument has no value")
        return key, behind
    key, at = _until(text, at, common_start(one, other))
    end = common_start(one[::-1], other[::-1])[::-1]
    return key, _until(text, at, end.lstrip(string.ascii_letters))[1]


def _until(text: str, at: int, mark: str) -> tuple[str, int]:
    """Return the text up to a mark, and the offset after it."""
    found = text.find(mark, at)
    if found < 0:
        raise Incomplete
    return text[at:found], found + len(mark)


def _tagged_value(form: CallForm, text: str, at: int, opens: str, first: str) -> tuple[str, int]:
    """Return a value and the offset after it. Values are not escaped: the closing tag counts if the call continues."""
    closes = form.value_closes.strip()
    layout = form.key_closes[0][len(form.key_closes[0].rstrip()) :]
    start = place = at + len(layout) if layout and text.startswith(layout, at) else at
    data = text.startswith(_DATA_OPENS, start)
    while True:
        place = text.find(closes, place)
        if place < 0:
            raise Incomplete
        behind = text[place + len(closes) :].lstrip()
        value = text[start:place].removesuffix(form.value_closes[: -len(form.value_closes.lstrip())])
        if behind.startswith((opens, first)) and (not data or value.endswith(_DATA_CLOSES)):
            return value.removeprefix(_DATA_OPENS).removesuffix(_DATA_CLOSES) if data else value, place + len(closes)
        if opens.startswith(behind) or first.startswith(behind):
            raise Incomplete
        place += 1


_DATA_OPENS, _DATA_CLOSES = "<![CDATA[", "]]>"
"""Encloses values of several lines in the calls of MiniCPM 5."""
