"""Postings say which units have a word, after any changes, and a question that nobody can limit stays bounded."""

import random

import pytest

from laguna_tui.repo import index_database, postings
from laguna_tui.repo.postings import PostingsWriter, best_units
from laguna_tui.repo.unit_words import file_words
from tests.app.repo.index_checks import faults


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of eight units."""
    monkeypatch.setattr(postings, "_SHIFT", 3)
    monkeypatch.setattr(postings, "BLOCK_UNITS", 8)
    monkeypatch.setattr("tests.app.repo.index_checks.BLOCK_UNITS", 8)


@pytest.fixture
def connection():
    with index_database.connect(None) as opened:
        yield opened


class Folder:
    """Files whose units have some words, in the tables and as plain Python."""

    def __init__(self, connection):
        self.connection = connection
        self.writer = PostingsWriter(connection)
        self.files = {}

    def put(self, name, units):
        self.drop(name)
        self.connection.execute(
            "insert into files (path, size, mtime_ns, language, exact, text) values (?, 0, 0, '', 0, 1)", (name,)
        )
        file = self.connection.execute("select id from files where path = ?", (name,)).fetchone()[0]
        first = self.writer.add(file_words("", [("", [text]) for text in units], 1000))
        self.connection.executemany(
            "insert into units (id, file, title, line, end, spans) values (?, ?, ?, 1, 1, '')",
            [(first + place, file, text) for place, text in enumerate(units)],
        )
        self.files[name] = units

    def drop(self, name):
        for (file,) in self.connection.execute("select id from files where path = ?", (name,)).fetchall():
            units = self.connection.execute("select id from units where file = ?", (file,)).fetchall()
            self.writer.remove([unit for (unit,) in units])
            self.connection.execute("delete from units where file = ?", (file,))
            self.connection.execute("delete from files where id = ?", (file,))
        self.files.pop(name, None)

    def found(self, *words):
        titles = dict(self.connection.execute("select id, title from units"))
        return sorted(titles[unit] for unit in best_units(self.connection, words, 1000))

    def expected(self, word):
        return sorted(text for units in self.files.values() for text in units if word in text.split())


def test_every_unit_with_a_word_is_found_after_any_changes(connection, small_blocks):
    rng = random.Random(4)
    folder = Folder(connection)
    words = [f"w{letter}" for letter in "abcdefghij"]
    for _ in range(60):
        name = f"f{rng.randrange(9)}"
        if rng.random() < 0.3:
            folder.drop(name)
        else:
            folder.put(name, [" ".join(rng.choices(words, k=rng.randint(1, 5))) for _ in range(rng.randint(1, 12))])
        if rng.random() < 0.5:
            folder.writer.flush()
        if rng.random() < 0.3:
            folder.writer.compact()
    folder.writer.flush()
    assert faults(connection) == []
    assert all(folder.found(word) == folder.expected(word) for word in words)


def test_blocks_whose_units_are_gone_are_given_back(connection, small_blocks):
    folder = Folder(connection)
    for number in range(40):
        folder.put("one", [f"wa version{number}"] * 8)
        folder.writer.flush()
        folder.writer.compact()
    assert connection.execute("select count(*) from blocks").fetchone()[0] <= 2
    assert len(folder.found("wa")) == 8


def test_a_word_in_every_unit_still_separates_more_from_less(connection):
    folder = Folder(connection)
    folder.put("one", ["wa wb", "wa wa wa wb", "wa wc"])
    folder.writer.flush()
    ranked = best_units(connection, ["wa"], 10)
    assert min(ranked.values()) > 0.0
    assert max(ranked, key=ranked.get) == 1


def test_a_rare_word_counts_more_than_a_frequent_one(connection):
    folder = Folder(connection)
    folder.put("one", ["wa", "wa", "wa", "wb"])
    folder.writer.flush()
    assert next(iter(best_units(connection, ["wa", "wb"], 10))) == 3


def test_what_is_scored_of_a_question_is_limited(connection, small_blocks, monkeypatch):
    folder = Folder(connection)
    folder.put("one", [f"wa wb{number}" for number in range(100)])
    folder.writer.flush()
    monkeypatch.setattr(postings, "SCORED_POSTINGS", 20)
    assert 8 <= len(best_units(connection, ["wa"], 1000)) <= 24
    assert next(iter(best_units(connection, ["wa", "wb77"], 1000))) == 77


def test_units_that_are_asked_for_are_scored_beside_the_best(connection):
    folder = Folder(connection)
    folder.put("one", ["wa wa", "wa", "wb"])
    folder.writer.flush()
    assert set(best_units(connection, ["wa"], 1, [1, 2])) == {0, 1}
