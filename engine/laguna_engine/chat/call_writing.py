"""Follows a call while it is generated: where it begins, which tool it calls, and where the value of each argument
begins and ends.
"""

import ast
import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from laguna_engine.chat.call_form import QUOTE, VARIABLE, CallForm, FormKind
from laguna_engine.chat.encoding import escape, unescape

TAG = re.compile(rf"<[^<>{VARIABLE}]*>?|\[[A-Z_/]+\]")
"""Matches what may be a special token."""

_NAME_ENDS = rb"(?=[\s<>\[\]{}:\"'(])"
_WORD = re.compile(r"\w+|\W")
_STRING = rb'"((?:[^"\\]|\\.)*)"'
_TEXTS = re.compile(_STRING + rb"?", re.DOTALL)
_SCALAR = re.compile(rb'"?(\w+)"?\s*[:=]\s*(true|false|True|False|-?\d+)\b')
_NAMED_LEVEL, _JSON_LEVEL = 1, 2
"""Depth of brackets in which the keys of the arguments are."""


@dataclass(frozen=True, slots=True)
class OpenValue:
    """A string value that has begun.

    Attributes:
        key: the argument.
        starts: offset of the value in the text.
        closes: the text that ends it.
    """

    key: str
    starts: int
    closes: bytes


class CallWriting:
    """Follows calls of one form.

    Attributes:
        form: the form.
        opens: the text that begins a call; empty where a call is the whole turn.
        after_opening: the text between that and the name, or the object with the name.
        begins: matches the beginning of a call in the last line of an answer, or in all of it; the call's text starts
            at the group `call`.
        end: the text that ends the list of calls.
        is_list: whether the calls of a turn are one list.
    """

    def __init__(self, form: CallForm, shared: Iterable[str] = ()) -> None:
        """Take a form. shared: texts that begin like a call and are none."""
        self.form = form
        tags = list(TAG.finditer(form.opens))
        start, end = (tags[-1].start(), tags[-1].end()) if tags else (0, len(form.opens.rstrip()))
        tag = form.opens[start:end]
        # A tag with other uses begins a call only together with the words after it.
        if form.opens.count(tag) > 1 or tag in form.key_opens or any(each.startswith(tag) for each in shared):
            end = len(form.opens.rstrip())
        self.opens, self.after_opening = form.opens[start:end].lstrip(), form.opens[end:]
        before = re.escape(form.opens[:start].strip()).replace(VARIABLE, r"[\w.\-]*") or r"\A"
        begins = rf"(?:\A|\n|{before})[ \t]*{re.escape(self.opens)}(?P<call>)"
        if not self.opens:
            begins = rf'\A\s*(?:<\|python_tag\|>)?(?P<call>)\{{\s*"{form.keys[0]}"\s*:\s*"'
        self.begins = re.compile(begins.encode())
        self.end = form.closes[: len(form.closes) - len(form.closes.lstrip(" \r\n)]}"))]
        self.is_list = bool(form.between and self.end.strip() and not TAG.search(form.call_closes))
        self._level = {FormKind.JSON: _JSON_LEVEL, FormKind.NAMED_JSON: _NAMED_LEVEL}.get(form.kind)
        self._values = re.compile(self._value_pattern(), re.DOTALL)

    @property
    def is_json(self) -> bool:
        """Whether arguments are JSON."""
        return self._level is not None

    @property
    def closes(self) -> str:
        """The text that ends a string value; in Python it depends on the quote."""
        match self.form.kind:
            case FormKind.TAGGED:
                return self.form.value_closes.rstrip()
            case FormKind.QUOTED:
                return QUOTE
            case _:
                return '"'

    def name_pattern(self, names: Collection[str]) -> re.Pattern[bytes]:
        """Return a pattern for the tool's name at the start of a call, up to its arguments."""
        longest_first = b"|".join(re.escape(name.encode()) for name in sorted(names, key=len, reverse=True))
        if self.form.kind is FormKind.JSON:
            return re.compile(rb'\{[^{}]*?"' + self.form.keys[0].encode() + rb'"\s*:\s*"(' + longest_first + rb')"')
        before_object = rb"[^{]*(?=\{)" if self.form.kind is FormKind.NAMED_JSON else b""
        return re.compile(rb"(" + longest_first + rb")" + _NAME_ENDS + before_object)

    def open_value(self, text: bytes, level: int) -> OpenValue | None:
        """Return the first string value that begins in a text.

        Args:
            text: the call since its name or the last value.
            level: depth of brackets before it.
        """
        found = self._values.search(text)
        if found is None:
            return None
        key = found["key"].decode("utf-8", "replace")
        if self._level is not None and level + brackets(text[: found.start()]) != self._level:
            key = ""
        closes = found.groupdict().get("quote") or self.closes.encode()
        return OpenValue(key, found.end(), closes)

    def end_of_value(self, text: bytes, value: OpenValue, scanned: int) -> tuple[int, int | None]:
        """Return the end of a value in `text` and the end of what closes it.

        Returns:
            If it is still open, the offset up to which it has been scanned, and None.
        """
        if self.form.kind in (FormKind.TAGGED, FormKind.QUOTED):
            # The layout around a value may be missing.
            closes = value.closes.strip()
            end = text.find(closes, scanned)
            if end < 0:
                return max(scanned, len(text) - len(closes)), None
            written = text[value.starts : end].removesuffix(value.closes[: -len(closes)])
            return value.starts + len(written), end + len(closes)
        quote = re.escape(value.closes)
        found = re.compile(rb"(?:[^\\" + quote + rb"]|\\.)*", re.DOTALL).match(text, scanned)
        end = scanned if found is None else found.end()
        return end, end + len(value.closes) if text.startswith(value.closes, end) else None

    def scalars(self, text: bytes) -> dict[str, str]:
        """Return the numbers and booleans in `text`, as JSON."""
        if self.form.kind is FormKind.TAGGED:
            return {}
        return {key.decode(): value.decode().lower() for key, value in _SCALAR.findall(text)}

    def written(self, text: str, closes: bytes) -> str:
        """Return a text as it is written in a value."""
        match self.form.kind:
            case FormKind.JSON | FormKind.NAMED_JSON:
                return json.dumps(text, ensure_ascii=False)[1:-1]
            case FormKind.PYTHON:
                quote = closes.decode()
                return text.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("\n", "\\n")
            case _:
                return escape(text) if self.form.escaped else text

    def read(self, value: str, closes: bytes) -> str:
        """Return the text of a value; ValueError if it ends within an escape."""
        match self.form.kind:
            case FormKind.JSON | FormKind.NAMED_JSON:
                return str(json.loads(f'"{value}"', strict=False))
            case FormKind.PYTHON:
                try:
                    return str(ast.literal_eval(closes.decode() * 3 + value + closes.decode() * 3))
                except SyntaxError as error:
                    raise ValueError(str(error)) from error
            case _:
                return unescape(value) if self.form.escaped else value

    def words(self, document: str, closes: bytes) -> Sequence[str]:
        """Return a document as it is written in a value, split where an excerpt may begin and end."""
        if self.form.kind in (FormKind.TAGGED, FormKind.QUOTED):
            return _WORD.findall(self.written(document, closes))
        return [self.written(each, closes) for each in _WORD.findall(document)]

    def _value_pattern(self) -> bytes:
        form = self.form
        match form.kind:
            case FormKind.TAGGED:
                closes = "|".join(
                    dict.fromkeys(re.escape(each).replace("\\\n", r"\s*") for each in map(str.strip, form.key_closes))
                )
                layout = form.key_closes[0][len(form.key_closes[0].rstrip()) :]
                return rf"{re.escape(form.key_opens.strip())}(?P<key>[^<>\"]*)(?:{closes}){re.escape(layout)}".encode()
            case FormKind.QUOTED:
                return rb"(?P<key>\w+)\s*:\s*" + re.escape(QUOTE).encode()
            case FormKind.PYTHON:
                return rb"[(,]\s*(?P<key>\w+)\s*=\s*(?P<quote>[\"'])"
            case _:
                return rb'"(?P<key>(?:[^"\\]|\\.)*)"\s*:\s*"'


def normalized(text: str) -> str:
    """Return a text with line feeds only and without lone surrogates."""
    return text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()


def brackets(text: bytes) -> int:
    """Return the number of brackets that a piece of JSON leaves open."""
    plain = _TEXTS.sub(b"", text)
    return plain.count(b"{") + plain.count(b"[") - plain.count(b"}") - plain.count(b"]")
