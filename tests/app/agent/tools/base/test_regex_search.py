"""A pattern is judged on the safe side: what it must contain, and whether it may explode."""

import re
import time
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.agent.tools.base.regex_search import prepare

# Literals, repeats, groups, sets, anchors and escapes.
PIECES = """
a b ab . * + ? {2} {0,3} | ( ) [ab] [^a] []a] \\b \\. \\w ^ $ (?i) (?: \\( é \\1 { } ] [ \\ (?= - \\x61 \\u0061 \\101
\\N{BULLET} \\d
""".split()
patterns = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)
lines = st.text("abé.*+?{}|()[]-\\ 1", max_size=12)


@given(patterns, lines)
def test_whatever_matches_contains_the_needle(pattern, line):
    prepared = prepare(pattern)
    if prepared.compiled.search(line):
        assert prepared.needle in line.encode()


@given(st.text(min_size=1, max_size=20))
def test_any_text_is_a_pattern(pattern):
    prepared = prepare(pattern)
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(pattern)
    except re.error:
        assert prepared.compiled.search(f"x{pattern}x")


@given(patterns, lines)
def test_both_engines_find_the_same(pattern, line):
    prepared = prepare(pattern)
    try:
        with warnings.catch_warnings(action="ignore"):
            wanted = re.search(pattern, line)
    except re.error:
        return
    found = prepared.compiled.search(line)
    assert (found and found.span()) == (wanted and wanted.span())


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        # Fuzzy matching, classes, references by number and the like, had `regex` been asked in its own language.
        (r"(x{e})+y*z*", "x{e}"),
        (r"(f\"{i})+y*z*", 'f"{i}'),
        (r"(a{})+y*z*", "a{}"),
        (r"([[:alpha:]x]z)+y*", ":x]z"),
        (r"(\p{Lu})+y*z*", r"(\p{Lu})+y*z*"),
        (r"(a{,}b)+y*z*", "aab"),
        (r"(a{,2}b)+y*z*", "aab"),
    ],
)
def test_a_pattern_that_may_explode_means_what_it_means_to_python(pattern, line):
    prepared = prepare(pattern)
    try:
        wanted = re.search(pattern, line)
    except re.error:
        wanted = re.search(re.escape(pattern), line)
    assert wanted is not None
    found = prepared.compiled.search(line)
    assert found is not None
    assert found.span() == wanted.span()


@given(patterns)
def test_what_is_called_tame_ends_soon(pattern):
    prepared = prepare(pattern)
    if prepared.tame:
        for line in ("a" * 1000, "ab" * 500, "a" * 999 + "!"):
            begun = time.process_time()
            prepared.compiled.search(line)
            assert time.process_time() - begun < 0.5


@pytest.mark.parametrize(
    ("pattern", "needle", "tame"),
    [
        ("parse_header", b"parse_header", True),
        (r"def foo\(", b"def foo(", True),
        (r"\bRateMeter\b", b"RateMeter", True),
        (r"class \w+Error", b"class ", True),
        ("colou?r", b"colo", True),
        ("foo|bar", b"", True),
        ("(foo|bar)baz", b"", True),
        (r"import .*json", b"import ", True),
        (r"a.*b.*c", b"a", False),
        ("(a+)+$", b"", False),
        (r"(a)\1", b"", False),
        (r"\x61\u0062\N{BULLET}x", b"x", True),
        ("(?i)foo", b"", True),
        ("[", b"[", True),
    ],
)
def test_judgements(pattern, needle, tame):
    prepared = prepare(pattern)
    assert (prepared.needle, prepared.tame) == (needle, tame)
