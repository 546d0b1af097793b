"""Parses the turn of a model whose calls have a form that was read off its template (`call_form`).

Unlike Laguna's parser this one sees text only: the tags of other families are ordinary text in some vocabularies and
special tokens in others. A call counts if it names an offered tool, or special tokens open it, and its opening begins a
line. It stays text otherwise: one in a sentence or a code block is an example. It is reported when it is complete.
Blanks between tags may differ from the template's. A call in a thought counts only if the turn ends with it and the
thought was never closed.
"""

import codecs
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from laguna_engine.chat.call_arguments import (
    TOO_DEEP,
    BadArguments,
    no_such_tool,
    parse_arguments,
    raw_arguments,
    too_deep,
)
from laguna_engine.chat.call_form import CallForm
from laguna_engine.chat.call_reader import PYTHON_TAG, Incomplete, Marks, Shape, WrittenCall, Wrong, read_call, skipped
from laguna_engine.chat.known_markup import ThinkTags
from laguna_engine.chat.messages import CallFinished, Malformed, ParserEvent, Reasoning, Text, ToolCall, ToolSpec

MAX_CALL_CHARS = 1 << 22
_MOST_CALLS = 16
"""Calls at the end of a thought that are read."""

_UNFINISHED = "The tool call was not finished and did not run; make the whole call again."
_TOO_LONG = "The tool call is too long and did not run; make a shorter one."


_MAY_END = re.compile(r"[]})>]")
"""Every call ends with one of these, so that pending text is read again only then."""


class FormParser:
    """Parses one turn.

    Attributes:
        ended: whether the turn is over.
        in_call: whether a call is open.
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
        self._special = special
        self._openings = {shape.trigger for shape in self._forms if shape.opens}
        self._marks = [*self._openings, *dropped, *([] if thinking is None else [thinking.opens])]
        # Of two marks at the same place the longer one is meant.
        self._mark = re.compile("|".join(map(re.escape, sorted(self._marks, key=len, reverse=True))))
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._pending = self._line = ""
        self._reasoned: list[str] = []
        self._begun = self.in_call = False
        # The form of the call before, while nothing but its closing, or another call, has followed.
        self._last_form: Shape | None = None

    def feed(self, token: int, piece: bytes, /) -> list[ParserEvent]:
        """Return the events of a token."""
        if token in self._ends:
            self.ended = True
        if self.ended:
            return []
        return list(self.take(self._decoder.decode(piece)))

    def finish(self) -> list[ParserEvent]:
        """Return the rest at the end of the generation: pending text, and an open call as malformed."""
        events = list(self.take(self._decoder.decode(b"", final=True), last=True))
        rest, self._pending = self._pending, ""
        events += self._emit(rest)
        reasoning, self._reasoned = "".join(self._reasoned), []
        return [*events, *(self._calls_at_end(reasoning) if self._reasoning else ())]

    def _calls_at_end(self, text: str) -> Sequence[ParserEvent]:
        """Return the calls with which reasoning ends that was never closed."""
        openings = "|".join(map(re.escape, self._openings))
        starts = [found.start() for found in re.finditer(openings, text)] if openings else []
        for start in starts[-_MOST_CALLS:]:
            parser = FormParser(
                tuple(self._tools.values()), [shape.form for shape in self._forms], special=self._special
            )
            parser._line = text[:start].rpartition("\n")[2]
            events = list(parser.take(text[start:], last=True))
            if events and all(isinstance(event, CallFinished) for event in events):
                return events
        return ()

    def take(self, text: str, *, last: bool = False) -> Iterator[ParserEvent]:
        """Yield the events that are certain after more text."""
        self._pending += text
        if self.in_call and not last and not _MAY_END.search(text) and len(self._pending) <= MAX_CALL_CHARS:
            return
        while self._pending:
            before = self._pending, self._reasoning, self.in_call, self._last_form
            yield from self._parse_some(last=last)
            if (self._pending, self._reasoning, self.in_call, self._last_form) == before:
                return

    def _parse_some(self, *, last: bool) -> Iterator[ParserEvent]:
        if self.in_call:
            yield from self._parse_call(last=last)
        elif self._reasoning:
            assert self._thinking is not None
            yield from self._parse_reasoning(self._thinking.closes, last=last)
        elif self._last_form is not None:
            self._parse_after_call(self._last_form, last=last)
        else:
            yield from self._parse_text(last=last)

    def _parse_reasoning(self, tag: str, *, last: bool) -> Iterator[ParserEvent]:
        """Yield reasoning up to the tag that ends it."""
        at = self._pending.find(tag)
        if at >= 0:
            yield from self._emit(self._pending[:at].rstrip())
            self._pending, self._reasoning, self._begun = self._pending[at + len(tag) :], False, False
            self._line = ""
            return
        certain = self._pending[: len(self._pending) - _partial(self._pending, tag)].rstrip()
        yield from self._emit_all_but(0 if last else len(self._pending) - len(certain))

    def _parse_text(self, *, last: bool) -> Iterator[ParserEvent]:
        """Yield text up to where reasoning or a call begins or may begin."""
        if not self._begun and any(not shape.opens for shape in self._forms):
            # Calls without an opening are whole turns.
            start = self._pending.lstrip()
            if not last and (not start or PYTHON_TAG.startswith(start)):
                return
            if start.startswith(("{", PYTHON_TAG)):
                self._pending, self.in_call = start, True
                return
        found = self._mark.search(self._pending) if self._marks else None
        rest = self._pending if found is None else self._pending[found.start() :]
        if found is None or (not last and any(each.startswith(rest) for each in self._marks if each != found[0])):
            keep = len(rest) if found is not None else max([_partial(rest, mark) for mark in self._marks], default=0)
            if last or found is not None or self._begun or self._pending[: len(self._pending) - keep].strip():
                yield from self._emit_all_but(0 if last else keep)
            return
        before, mark, behind = self._pending[: found.start()], found[0], rest
        yield from self._emit(before if before.strip() or self._begun or mark not in self._openings else "")
        if self._thinking is not None and mark == self._thinking.opens:
            self._pending, self._reasoning, self._begun = behind[len(mark) :], True, False
            self._reasoned.clear()
        elif mark in self._openings and (mark in self._special or not self._line.strip()):
            self._pending, self.in_call = behind, True
        elif mark in self._openings:
            self._pending = behind
            yield from self._emit_first()
        else:
            self._pending = behind[len(mark) :]

    def _parse_after_call(self, shape: Shape, *, last: bool) -> None:
        """Drop what closes a call, and see whether another one follows at once."""
        # Llama separates calls, if it makes several, by semicolons.
        self._pending = self._pending.lstrip(None if shape.opens else "; \r\n")
        if not self._pending:
            return
        try:
            if skipped(shape.next_opens, self._pending, 0) is not None and shape.continues(self._pending):
                self.in_call = True
                return
        except Incomplete:
            if not last:
                return
        closing = next((mark for mark in shape.closing if self._pending.startswith(mark)), None)
        if closing is not None:
            self._pending = self._pending[len(closing) :]
        elif last or not any(mark.startswith(self._pending) for mark in shape.closing):
            self._last_form = None

    def _parse_call(self, *, last: bool) -> Iterator[ParserEvent]:
        """Yield the call at the start of the pending text, once it is complete."""
        try:
            shape, written = self._read_call(last=last)
        except Incomplete:
            return
        except Wrong as error:
            yield from self._parse_malformed(error, last=last)
            return
        self.in_call = False
        if shape is None or written is None:
            # It names no tool that was offered, so it is an example in the answer.
            yield from self._emit_first()
            return
        raw, self._pending = self._pending[: written.end], self._pending[written.end :]
        self._begun, self._line, self._last_form = False, "", shape
        yield self._finished(written, raw)

    def _read_call(self, *, last: bool) -> tuple[Shape | None, WrittenCall | None]:
        """Return the call of an offered tool at the start of the pending text, and its form; None for none.

        Raises:
            Incomplete: it may become one.
            Wrong: it begins as one and cannot become one.
        """
        whole = last or len(self._pending) > MAX_CALL_CHARS
        wrong: Wrong | None = None
        for shape, opens in self._possible_forms():
            try:
                start = skipped(opens, self._pending, 0)
                found = None if start is None else read_call(shape, self._pending, start, last=last)
                if found is not None and (found.name in self._tools or self._is_no_example(shape)):
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

    def _is_no_example(self, shape: Shape) -> bool:
        """Return whether what has this form is meant as a call, whatever it names: special tokens open it, or it is the
        whole turn.
        """
        return not shape.trigger or any(text in shape.trigger for text in self._special)

    def _possible_forms(self) -> Iterator[tuple[Shape, Marks]]:
        """Yield the forms that a call may have here, with what opens it."""
        if self._last_form is not None:
            yield self._last_form, self._last_form.next_opens
        yield from ((shape, shape.opens) for shape in self._forms if shape.opens or self._last_form is None)

    def _parse_malformed(self, error: Wrong, *, last: bool) -> Iterator[ParserEvent]:
        """Yield an incomplete call as malformed: up to the tag that closes it, once that has come."""
        problem, shape = error.args
        ends = [at + len(tag) for tag in shape.tags if (at := self._pending.find(tag, 1)) >= 0]
        if not ends and not last and len(self._pending) <= MAX_CALL_CHARS:
            return
        end = min(ends, default=len(self._pending))
        self.in_call = False
        if any(name in self._pending[:end] for name in self._tools):
            raw, self._pending = self._pending[:end], self._pending[end:]
            self._last_form, self._begun, self._line = shape, False, ""
            yield Malformed(raw, problem)
        else:
            yield from self._emit_first()

    def _finished(self, written: WrittenCall, raw: str) -> CallFinished | Malformed:
        spec = self._tools.get(written.name)
        if spec is None:
            return Malformed(raw, f"{no_such_tool(written.name, self._tools)}; call one of these.")
        if isinstance(written.arguments, Mapping) and too_deep(written.arguments):
            return Malformed(raw, TOO_DEEP.format(name=written.name))
        try:
            return CallFinished(ToolCall(written.name, parse_arguments(spec, raw_arguments(spec, written.arguments))))
        except BadArguments as bad:
            return Malformed(raw, f"{bad}.")

    def _emit_first(self) -> Iterator[ParserEvent]:
        """Yield the first character of the pending text, which is not the beginning of a call."""
        self._last_form = None
        text, self._pending = self._pending[:1], self._pending[1:]
        yield from self._emit(text)

    def _emit_all_but(self, keep: int) -> Iterator[ParserEvent]:
        """Yield the pending text except its last `keep` characters."""
        cut = len(self._pending) - keep
        text, self._pending = self._pending[:cut], self._pending[cut:]
        yield from self._emit(text)

    def _emit(self, text: str) -> Iterator[ParserEvent]:
        if not self._begun:
            text = text.lstrip("\r\n")
        if text:
            self._begun = True
            if self._reasoning:
                self._reasoned.append(text)
            _, line_break, line = text.rpartition("\n")
            self._line = line if line_break else self._line + line
            yield Reasoning(text) if self._reasoning else Text(text)


def _partial(text: str, mark: str) -> int:
    """Return the length of the longest end of `text` with which `mark` begins."""
    return next((size for size in range(min(len(mark) - 1, len(text)), 0, -1) if text.endswith(mark[:size])), 0)
