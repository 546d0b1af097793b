"""Parses that a deadline or a signal cuts short, and the queries after them, which must call no Python from C."""

import subprocess
import sys
import time

import pytest

from laguna_tui.repo.syntax import grammars
from laguna_tui.repo.syntax.grammars import grammar
from laguna_tui.repo.syntax.tag_queries import LANGUAGE_OF, TAGS
from tests.app.repo.syntax.test_syntax import SOURCES

LONG_BYTES = 80_000
IMPORTS = {
    "javascript": "import a from './a';\nconst b = require('./b');\n",
    "typescript": "import a from './a';\nconst b = require('./b');\n",
    "tsx": "import a from './a';\nconst b = require('./b');\n",
    "ruby": "require_relative 'a'\n",
    "lua": "local a = require('a')\n",
    "shell": "source ./a.sh\n",
    "zig": 'const a = @import("a.zig");\n',
}
"""Code that the predicates of a language's `imports` query apply to."""


def long_source(language):
    """A source of a language that the parser reads in many pieces."""
    sources = [text for path, (text, *_) in SOURCES.items() if LANGUAGE_OF["." + path.rpartition(".")[2]] == language]
    text = "".join(f"{source}\n" for source in (*sources, IMPORTS.get(language, ""))).encode()
    return text * (LONG_BYTES // len(text) + 1)


@pytest.fixture(params=TAGS)
def language(request):
    return request.param


def queries(parser):
    return [query for query in (parser.definitions, parser.references, parser.imports, parser.unparsed) if query]


def test_every_query_of_every_language_ends_after_a_parse_that_was_cut_short():
    """In a process of its own: a query that asks Python for text beyond the cut cannot be interrupted."""
    program = """
from laguna_tui.repo.syntax.grammars import grammar
from laguna_tui.repo.syntax.tag_queries import TAGS
from tests.app.repo.syntax.test_grammars import long_source, queries
for language in TAGS:
    parser, source = grammar(language), long_source(language)
    for limit_ms in (1, 4, 20):
        root = parser.parse(source, limit_ms / 1000).root_node
        for query in queries(parser):
            parser.matches(query, root)
            parser.captured(query, root)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def test_a_tree_has_bytes_for_text_whole_and_cut_short(language, monkeypatch):
    parser, source = grammar(language), long_source(language)
    root = parser.parse(source, 60).root_node
    assert root.end_byte > len(source) / 2
    assert root.text == source[root.start_byte : root.end_byte]
    clock = iter([0, 0, 0])
    monkeypatch.setattr(grammars.time, "thread_time", lambda: next(clock, 100))
    root = parser.parse(source, 60).root_node
    assert 0 < root.end_byte < len(source) / 2
    assert root.text == source[root.start_byte : root.end_byte]


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_an_exception_of_a_signal_handler_comes_out_of_a_parse_as_it_is(language, monkeypatch, raised):
    parser, source = grammar(language), long_source(language)
    clock, calls = time.thread_time, 0

    def interrupted():
        nonlocal calls
        calls += 1
        if calls == 4:
            raise raised(143)
        # tree-sitter goes on reading after the exception, which Python then wraps into a SystemError here.
        return clock()

    monkeypatch.setattr(grammars.time, "thread_time", interrupted)
    with pytest.raises(raised) as error:
        parser.parse(source, 60)
    assert error.value.args == (143,)
