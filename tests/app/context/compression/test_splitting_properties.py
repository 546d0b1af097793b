"""Whatever a file holds, what is kept of it stands as it stood, and what is said of the rest is true."""

import re

from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.context.compression.compressor import compress
from laguna_tui.context.compression.splitting import document

_PIECES = [
    "def f(a):\n", "    return g(a)\n", "class C:\n", "    def m(self):\n", '        """doc"""\n', "        pass\n",
    "import os\n", "x = 1\n", "# note\n", "\n", "\r\n", "{\n", "}\n", "fn a() {\n", "func B() int {\n",
    "text, more text ", "\t", '"""', "'", "/*", "*/", "\\", "é\n", "\x00", "\x0c", "\u2028", "\ud800",
    "key: value\n", "<div>", "(" * 40, "a,b;" * 400, "diff --git a/x b/x\n", "@@ -1 +1 @@\n",
    "Traceback (most recent call last)\n", "error: no\n",
]  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=8)), max_size=60).map("".join)
paths = st.sampled_from(["a.py", "a.rs", "a.js", "a.go", "a.c", "a.rb", "a.md", "a.html", "a.json", "noext", "x.diff"])
files = st.lists(st.tuples(paths, texts), min_size=1, max_size=3)
queries = st.one_of(st.sampled_from(["", "f", "what does `f` return?", "x C.m g(a)"]), st.text(max_size=30))
_RANGE = re.compile(r"(?:start=(\d+) end=|read )(\d+)(?:-(\d+))?")


def letters(text):
    return (len(text) + 2) // 3


def source(part, offset):
    """The place in the document of a character of the result; None for one that was inserted."""
    for at, start, length in part.copies:
        if at <= offset < at + length:
            return start + offset - at
    return None


def place(part, offset):
    """The place in the result of a character of the document."""
    return next(at + offset - start for at, start, length in part.copies if start <= offset < start + length)


def marked_lines(part):
    """The line ranges that the inserted lines speak of."""
    made = "".join(c if source(part, i) is None else "\x00" for i, c in enumerate(part.text))
    for line in filter(None, re.split("[\x00\n]+", made)):
        if line.strip():
            first, second, third = _RANGE.search(line).groups()
            yield (int(first), int(second)) if first else (int(second), int(third))


@given(files, queries, st.floats(0, 1.2))
def test_any_files_are_shortened_truthfully(files, query, share):
    documents = [document(path, text) for path, text in files]
    budget = int(share * sum(letters(text) for _, text in files))
    result = compress(documents, query, budget, letters)
    assert result.tokens_after == sum(letters(part.text) for part in result.parts) <= budget
    assert result.parts == compress(documents, query, budget, letters).parts
    for part in result.parts:
        check_kept(part)
        check_markers(part)


def check_kept(part):
    """Kept spans stand in order and as they were, and every span is either kept or dropped."""
    text = part.document.text
    assert sorted([*(k.span for k in part.kept), *(d.span for d in part.dropped)]) == list(part.document.spans)
    places = [place(part, kept.span.start) for kept in part.kept]
    assert places == sorted(places)
    for at, kept in zip(places, part.kept, strict=True):
        start, stop, *_ = kept.span
        assert part.text[at : at + stop - start] == text[start:stop]
        assert source(part, at) == start
    copied = "".join(part.text[at : at + length] for at, _, length in part.copies)
    assert copied == "".join(text[start : start + length] for _, start, length in part.copies)
    if part.kept and not part.dropped:
        assert part.text == text


def check_markers(part):
    """What is missing is said, and nothing is said to be missing that is there."""
    if part.dropped and not part.text:
        return
    said = {line for first, last in marked_lines(part) for line in range(first, last + 1)}
    missing = set()
    for dropped in part.dropped:
        for offset in range(dropped.span.start, dropped.span.stop):
            if not part.document.text[offset].isspace():
                missing.add(part.document.line(offset))
    assert missing <= said
    assert not any(line_text(part.document, line).strip() for line in said - missing)


def line_text(document, line):
    starts = [*document.line_starts, len(document.text)]
    return document.text[starts[line - 1] : starts[line]]


@given(files, texts, queries, st.integers(0, 200))
def test_nothing_protected_is_touched(files, text, query, budget):
    documents = [document(path, text) for path, text in files]
    edited = document("edited.py", text, protected=True)
    result = compress([*documents, edited], query, budget, letters)
    assert result.parts[-1].text == text
    assert not result.parts[-1].dropped


@given(paths, texts)
def test_what_fits_stays_as_it_is_however_often(path, text):
    once = compress([document(path, text)], "f", letters(text), letters)
    assert once.text == text
    assert compress([document(path, once.text)], "f", letters(text), letters).text == text
