"""Tools and calls as text of a conversation, for chat templates that do not write them.

The tags around a call are special tokens in many vocabularies. A renderer makes special tokens only of what a template
writes itself and of the markup in a `Marked` text; a name or an argument that spells one stays text.
"""

import json
from collections.abc import Mapping, Sequence

from laguna_engine.chat.call_form import QUOTE, VARIABLE, CallForm, FormKind

Object = Mapping[str, object]

_TOOLS = "You can call any of the following function tools to satisfy the user's requests:"
_EXAMPLE = "Example function tool call syntax:"
"""The wording of llama.cpp's own template for DeepSeek R1."""


class Marked(str):
    """A text with markup of our own in it. What is derived from it by string methods has no markup.

    Attributes:
        parts: text and markup in turn, beginning with text.
    """

    parts: tuple[str, ...]

    @classmethod
    def of(cls, *parts: str) -> "Marked":
        """Return a text of these parts: text and markup in turn, beginning with text, which may be marked itself."""
        flat = [""]
        for place, part in enumerate(parts):
            if place % 2:
                flat += [part, ""]
            else:
                first, *others = part.parts if isinstance(part, Marked) else (part,)
                flat[-1] += first
                flat += others
        made = cls("".join(flat))
        made.parts = tuple(flat)
        return made


def joined(texts: Sequence[object], between: str) -> Marked:
    """Join the texts that are not empty and keep their markup."""
    found = Marked.of()
    for text in texts:
        if isinstance(text, str) and text:
            found = Marked.of(found, "", between if found else "", "", text)
    return found


def with_tools(messages: Sequence[Object], tools: Sequence[object], form: CallForm) -> list[Object]:
    """Return messages with an example of a call at the end of the system text, and before it the `tools`, if any."""
    example = written_calls(form, [("example_tool", {"example_argument": "some value"})])
    listed = "\n".join([_TOOLS, "", *map(_json, tools)]) if tools else ""
    has_system = bool(messages) and messages[0]["role"] == "system"
    before = messages[0]["content"] if has_system else ""
    content = joined([before, listed, _EXAMPLE, example], "\n\n")
    return [{"role": "system", "content": content}, *messages[has_system:]]


def written_calls(form: CallForm, calls: Sequence[tuple[str, Object]]) -> Marked:
    """Return calls, by name and arguments, as a model writes them."""
    # Without a text between calls, each is a whole one.
    between = form.between or f"{form.closes}\n{form.opens}"
    written = Marked.of()
    for place, (name, arguments) in enumerate(calls):
        written = Marked.of(written, _literal(between if place else form.opens), _call(form, name, arguments))
    return Marked.of(written, _literal(form.closes))


def call_head(form: CallForm, name: str) -> str:
    """Return a call up to its arguments, without what opens it."""
    match form.kind:
        case FormKind.JSON:
            return f'{{"{form.keys[0]}": {_json(name)}, "{form.keys[1]}": '
        case FormKind.PYTHON:
            return f"{name}("
        case FormKind.QUOTED:
            return f"{name}{{"
        case _:
            return name + form.after_name


def _call(form: CallForm, name: str, arguments: Object) -> Marked:
    if form.kind in (FormKind.NAMED_JSON, FormKind.TAGGED):
        written = Marked.of(name, _literal(form.after_name))
    else:
        written = Marked.of(call_head(form, name))
    match form.kind:
        case FormKind.JSON:
            return Marked.of(written, "", _json(arguments) + "}")
        case FormKind.NAMED_JSON:
            return Marked.of(written, "", _json(arguments))
        case FormKind.PYTHON:
            values = [
                f"{key}={_json(each) if isinstance(each, str) else repr(each)}" for key, each in arguments.items()
            ]
            return Marked.of(written, "", ", ".join(values) + ")")
        case FormKind.QUOTED:
            quoted = [Marked.of(f"{key}:", *_quoted(each)) for key, each in arguments.items()]
            return Marked.of(written, "", joined(quoted, ","), "", "}")
        case FormKind.TAGGED:
            for key, each in arguments.items():
                is_text = isinstance(each, str)
                closes, value = form.key_closes[not is_text], str(each) if is_text else _json(each)
                written = Marked.of(written, form.key_opens, key, _literal(closes), value, form.value_closes)
            return written


def _quoted(value: object) -> tuple[str, ...]:
    return (QUOTE, value, QUOTE) if isinstance(value, str) else ("", _json(value))


def _literal(text: str) -> str:
    return text.replace(VARIABLE, "0")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
