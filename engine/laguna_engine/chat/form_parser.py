"""Parses the turn of a model whose calls have a form that was read off its template (`call_form`).

Unlike Laguna's parser this one sees text only: the tags of other families are ordinary text in some vocabularies and
special tokens in others. A call counts if it names an offered tool and its opening begins a line, and stays text
otherwise: one in a sentence or a code block is an example. It is reported when it is complete. Blanks between tags may
differ from the template's.
"""

import ast
import codecs
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from laguna_engine.chat.call_arguments import TOO_DEEP, BadArguments, parse_arguments, too_deep
from laguna_engine.chat.call_form import CallForm
from laguna_engine.chat.call_reader import PYTHON_TAG, Incomplete, Marks, Shape, WrittenCall, Wrong, read_call, skipped
from laguna_engine.chat.known_markup import ThinkTags
from laguna_engine.chat.messages import CallFinished, Malformed, ParserEvent, Reasoning, Text, ToolCall, ToolSpec

MAX_CALL_CHARS = 1 << 22

_UNFINISHED = "The tool call was not finished and did not run; make the whole call again."
_TOO_LONG = "The tool call is too long and did not run; make a shorter one."


_MAY_END = re.compile(r"[]})>]")
"""Every call ends with one of these, so that what is held is read again only then."""


class FormParser:
    """Parses one turn.

    Attributes:
        ended: whether the turn is over.
    """

    def __init__(
        self,
        tools: Sequence[ToolSpec],
        forms: Sequence[CallForm],
        thinking: ThinkTags | None = None,
        ends: Collection[int] = (),
        *,
        dropped: Sequence[str] = (),
        in_reasoning: bool = False,
        special: Collection[str] = (),
    ) -> None:
        """Take what may be in the turn.

        Args:
            tools: the tools offered.
            forms: how calls may be written.
            thinking: what encloses reasoning; None for a model that does not reason.
            ends: the tokens that end the turn.
            dropped: tags that are neither text nor part of a call.
            in_reasoning: whether the prompt has opened the reasoning.
            special: the texts of special tokens; a call that one opens may begin within a line.
        """
        self.ended = False
        self._ends = ends
        self._tools = {tool.name: tool for tool in tools}
        self._forms = [Shape(form) for form in forms] if tools else []
        self._thinking, self._reasoning = thinking, in_reasoning and thinking is not None
        self._dropped, self._special = dropped, special
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = self._line = ""
        self._begun = self._in_call = False
        # The form of the call before, while nothing but its closing, or another call, has followed.
        self._after: Shape | None = None

    def feed(self, token: int, piece: bytes, /) -> list[ParserEvent]:
        """Return the events of a token."""
        if token in self._ends:
            self.ended = True
        if self.ended:
            return []
        return list(self.take(self._decoder.decode(piece)))

    def finish(self) -> list[ParserEvent]:
        """End of the generation: the text that was held back, and an open call as malformed."""
        events = list(self.take(self._decoder.decode(b"", final=True), last=True))
        rest, self._held = self._held, ""
        return [*events, *self._said(rest)]

    def take(self, text: str, *, last: bool = False) -> Iterator[ParserEvent]:
        """Yield the events that are certain after more text."""
        self._held += text
        if self._in_call and not last and not _MAY_END.search(text) and len(self._held) <= MAX_CALL_CHARS:
            return
        while self._held:
            before = self._held, self._reasoning, self._in_call, self._after
            yield from self._step(last=last)
            if (self._held, self._reasoning, self._in_call, self._after) == before:
                return

    def _step(self, *, last: bool) -> Iterator[ParserEvent]:
        if self._in_call:
            yield from self._call(last=last)
        elif self._reasoning:
            assert self._thinking is not None
            yield from self._thought(self._thinking.closes, last=last)
        elif self._after is not None:
            self._behind_call(self._after, last=last)
        else:
            yield from self._prose(last=last)

    def _thought(self, tag: str, *, last: bool) -> Iterator[ParserEvent]:
        """Yield reasoning up to the tag that ends it."""
        at = self._held.find(tag)
        if at >= 0:
            yield from self._said(self._held[:at].rstrip())
            self._held, self._reasoning, self._begun = self._held[at + len(tag) :], False, False
            self._line = ""
            return
        certain = self._held[: len(self._held) - _partial(self._held, tag)].rstrip()
        yield from self._certain(0 if last else len(self._held) - len(certain))

    def _prose(self, *, last: bool) -> Iterator[ParserEvent]:
        """Yield text up to where reasoning or a call begins or may begin."""
        if not self._begun and any(not shape.opens for shape in self._forms):
            # Calls without an opening are whole turns.
            start = self._held.lstrip()
            if not last and (not start or PYTHON_TAG.startswith(start)):
                return
            if start.startswith(("{", PYTHON_TAG)):
                self._held, self._in_call = start, True
                return
        marks = [shape.trigger for shape in self._forms if shape.opens]
        marks += [*self._dropped, *([self._thinking.opens] if self._thinking is not None else [])]
        found = min(((at, -len(mark), mark) for mark in marks if (at := self._held.find(mark)) >= 0), default=None)
        keep = 0 if last else max([_partial(self._held, mark) for mark in marks], default=0)
        longer = found is not None and any(
            mark.startswith(self._held[found[0] :]) for mark in marks if mark != found[2]
        )
        if not last and not self._begun and not self._held[: len(self._held) - keep].strip() and found is None:
            return
        if found is None or (longer and not last):
            yield from self._certain(keep if found is None else len(self._held) - found[0])
            return
        at, _, mark = found
        before, behind = self._held[:at], self._held[at:]
        yield from self._said(before if before.strip() or self._begun or mark not in self._openings else "")
        if self._thinking is not None and mark == self._thinking.opens:
            self._held, self._reasoning, self._begun = behind[len(mark) :], True, False
        elif mark in self._openings and (mark in self._special or not self._line.strip()):
            self._held, self._in_call = behind, True
        elif mark in self._openings:
            yield from self._said(mark[:1])
            self._held = behind[1:]
        else:
            self._held = behind[len(mark) :]

    @property
    def _openings(self) -> list[str]:
        return [shape.trigger for shape in self._forms]

    def _behind_call(self, shape: Shape, *, last: bool) -> None:
        """Drop what closes a call, and see whether another one follows at once."""
        # Llama separates calls, if it makes several, by semicolons.
        self._held = self._held.lstrip(None if shape.opens else "; \r\n")
        if not self._held:
            return
        try:
            if skipped(shape.next_opens, self._held, 0) is not None and shape.continues(self._held):
                self._in_call = True
                return
        except Incomplete:
            if not last:
                return
        closing = next((mark for mark in shape.closing if self._held.startswith(mark)), None)
        if closing is not None:
            self._held = self._held[len(closing) :]
        elif last or not any(mark.startswith(self._held) for mark in shape.closing):
            self._after = None

    def _call(self, *, last: bool) -> Iterator[ParserEvent]:
        """Yield the call at the start of what is held, once it is complete."""
        try:
            shape, written = self._read_call(last=last)
        except Incomplete:
            return
        except Wrong as error:
            yield from self._wrong(error, last=last)
            return
        self._in_call = False
        if shape is None or written is None:
            # It names nothing that was offered, so it is an example in the answer.
            self._after = None
            yield from self._said(self._held[:1])
            self._held = self._held[1:]
            return
        raw, self._held = self._held[: written.end], self._held[written.end :]
        self._begun, self._line, self._after = False, "", shape
        yield self._finished(written, raw)

    def _read_call(self, *, last: bool) -> tuple[Shape | None, WrittenCall | None]:
        """Return the call of an offered tool at the start of what is held, and its form; None for none.

        Raises:
            Incomplete: it may become one.
            Wrong: it begins as one and cannot become one.
        """
        whole = last or len(self._held) > MAX_CALL_CHARS
        wrong: Wrong | None = None
        for shape, opens in self._expected():
            try:
                start = skipped(opens, self._held, 0)
                found = None if start is None else read_call(shape, self._held, start, last=last)
                if found is not None and found.name in self._tools:
                    return shape, found
            except Incomplete:
                if not whole:
                    raise
                wrong = Wrong(_UNFINISHED if last else _TOO_LONG, shape)
            except Wrong as error:
                wrong = Wrong(f"{error}; make the call again.", shape)
        if wrong is not None:
            raise wrong
        return None, None

    def _expected(self) -> Iterator[tuple[Shape, Marks]]:
        """Yield the forms that a call may have here, with what opens it."""
        if self._after is not None:
            yield self._after, self._after.next_opens
        yield from ((shape, shape.opens) for shape in self._forms if shape.opens or self._after is None)

    def _wrong(self, error: Wrong, *, last: bool) -> Iterator[ParserEvent]:
        """Yield what is no complete call: up to the tag that closes it, once that has come."""
        problem, shape = error.args
        ends = [at + len(tag) for tag in shape.tags if (at := self._held.find(tag, 1)) >= 0]
        if not ends and not last and len(self._held) <= MAX_CALL_CHARS:
            return
        end = min(ends, default=len(self._held))
        self._in_call = False
        if any(name in self._held[:end] for name in self._tools):
            raw, self._held = self._held[:end], self._held[end:]
            self._after, self._begun, self._line = shape, False, ""
            yield Malformed(raw, problem)
        else:
            self._after = None
            yield from self._said(self._held[:1])
            self._held = self._held[1:]

    def _finished(self, written: WrittenCall, raw: str) -> CallFinished | Malformed:
        spec = self._tools[written.name]
        if isinstance(written.arguments, Mapping) and too_deep(written.arguments):
            return Malformed(raw, TOO_DEEP.format(name=written.name))
        try:
            return CallFinished(ToolCall(written.name, parse_arguments(spec, _as_written(spec, written.arguments))))
        except BadArguments as bad:
            return Malformed(raw, f"{bad}.")

    def _certain(self, keep: int) -> Iterator[ParserEvent]:
        """Yield what is held but for this many characters."""
        cut = len(self._held) - keep
        said, self._held = self._held[:cut], self._held[cut:]
        yield from self._said(said)

    def _said(self, text: str) -> Iterator[ParserEvent]:
        if not self._begun:
            text = text.lstrip("\r\n")
        if text:
            self._begun = True
            _, line_break, line = text.rpartition("\n")
            self._line = line if line_break else self._line + line
            yield Reasoning(text) if self._reasoning else Text(text)


def _partial(text: str, mark: str) -> int:
    """Return the length of the longest end of `text` with which `mark` begins."""
    return next((size for size in range(min(len(mark) - 1, len(text)), 0, -1) if text.endswith(mark[:size])), 0)


def _as_written(spec: ToolSpec, given: Mapping[str, object] | Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield arguments with strings verbatim and all else as JSON."""
    properties = spec.parameters.get("properties")
    for key, each in given.items() if isinstance(given, Mapping) else given:
        schema = properties.get(key) if isinstance(properties, Mapping) else None
        if not isinstance(each, str):
            yield key, json.dumps(each, ensure_ascii=False)
        elif isinstance(schema, Mapping) and schema.get("type") not in (None, "string"):
            yield key, _of_python(each)
        else:
            yield key, each


def _of_python(written: str) -> str:
    """Return as JSON what some templates write as Python does; all else as it is."""
    try:
        json.loads(written)
    except (ValueError, RecursionError):
        try:
            return json.dumps(ast.literal_eval(written), ensure_ascii=False)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            pass
    return written
