"""Small documents for the compressor's tests: a paragraph is a unit, its first line OUTLINE if it is a definition."""

import re

from laguna_tui.context.compression.spans import Document, Span, SpanRole, SpanUnit

_DEFINES = re.compile(r"(?:def|class) (\w+)|(\w+) = ")


def cut(path, text, *, protected=False):
    """A document of paragraphs; `def` and `class` lines are OUTLINE, calls are the paragraph's references."""
    spans, units = [], []
    for match in re.finditer(r"(?:[^\n]+\n?)+", text):
        start, stop = match.span()
        defined = _DEFINES.match(match.group())
        names = frozenset(filter(None, defined.groups())) if defined else frozenset()
        refers = frozenset(re.findall(r"(\w+)\(", match.group())) - names
        first, last = text.count("\n", 0, start) + 1, text.count("\n", 0, stop - 1) + 1
        units.append(SpanUnit(next(iter(names), ""), names, refers, first, last))
        head = text.find("\n", start, stop) + 1 or stop
        if match.group().startswith(("def", "class")) and head < stop:
            spans += [
                Span(start, head, SpanRole.OUTLINE, len(units) - 1),
                Span(head, stop, SpanRole.BODY, len(units) - 1),
            ]
        else:
            spans.append(Span(start, stop, SpanRole.BODY if names else SpanRole.TEXT, len(units) - 1))
    return Document(path, text, tuple(spans), tuple(units), protected)


def letters(text):
    """A tokenizer with four characters per token."""
    return (len(text) + 3) // 4


def filler(count, prefix="thing"):
    """Functions that no question asks for."""
    return "".join(f"def {prefix}{n}(value):\n    return other_{prefix}{n} * value + {n}\n\n" for n in range(count))
