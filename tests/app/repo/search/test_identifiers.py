"""A name is found by any of its words, in any of the ways names are written."""

import pytest

from laguna_tui.repo.search.identifiers import looks_like_code, parts, stem, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parseConfigFile", ["parse", "config", "file", "parseconfigfile"]),
        ("parse_config", ["parse", "config", "parseconfig"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("utf8", ["utf", "8", "utf8"]),
        ("plain", ["plain"]),
        ("größe_ändern", ["größe", "ändern", "größeändern"]),
        ("x" * 65, []),
        ("a.b(c)", ["a", "b", "c"]),
    ],
)
def test_identifiers_are_split_and_joined(text, expected):
    assert words(text) == expected


def test_parts_leave_out_the_joined_name():
    assert parts("getURLFor") == ["get", "url", "for"]


@pytest.mark.parametrize(
    ("token", "expected"), [("camelCase", True), ("snake_case", True), ("Word", False), ("_", False)]
)
def test_what_looks_like_code(token, expected):
    assert looks_like_code(token) is expected


def test_words_of_one_stem_meet():
    assert stem("parsing") == stem("parse") == stem("parsed")
    assert stem("parser") == stem("parsers") != stem("parse")
    assert stem("validate") == stem("validation") == stem("validator")
