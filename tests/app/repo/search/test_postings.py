"""Postings say which units have a word, after any changes, and a question that nobody can limit stays bounded."""

import math
import random
import sqlite3

import pytest

from laguna_tui.repo.search import best_units as lists
from laguna_tui.repo.search import bm25, index_database, postings
from laguna_tui.repo.search.best_units import best_units
from laguna_tui.repo.search.file_parsing import file_words
from laguna_tui.repo.search.postings_writer import PostingsWriter
from tests.app.repo.search.index_checks import faults


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of eight units."""
    monkeypatch.setattr(postings, "BLOCK_UNITS", 8)


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
    monkeypatch.setattr(lists, "LISTED_POSTINGS", 20)
    monkeypatch.setattr(bm25, "SCORED_POSTINGS", 20)
    assert 8 <= len(best_units(connection, ["wa"], 1000)) <= 24
    assert next(iter(best_units(connection, ["wa", "wb77"], 1000))) == 77


def scored_one_by_one(connection, words, limit, also, forms):
    """What `best_units` promises, posting by posting: nothing is left out because it could not matter."""
    lengths = {
        block * postings.BLOCK_UNITS + place: length
        for block, packed in connection.execute("select id, lengths from blocks")
        for place, length in enumerate(postings.numbers(packed))
        if length
    }
    average = sum(lengths.values()) / len(lengths)
    having = {
        word: {
            block * postings.BLOCK_UNITS + place: weight
            for block, places, weights in connection.execute(
                "select block, places, weights from postings where word = ?", (word,)
            )
            for place, weight in zip(postings.numbers(places), weights, strict=True)
        }
        for word in words
    }
    scores = dict.fromkeys(lengths, 0.0)
    most = {
        word: math.log1p((max(len(lengths) - len(found), 0) + 0.5) / (len(found) + 0.5))
        for word, found in having.items()
        if found
    }
    most |= {form: 0.3 * min(most[form], most.get(word, 99)) for form, word in forms.items() if form in most}
    for word in sorted(words, key=lambda word: (len(having[word]), word)):
        for unit, weight in having[word].items():
            if unit in lengths:
                norm = 1.2 * 0.7 + 1.2 * 0.3 / average * lengths[unit]
                scores[unit] += 2.2 * most[word] * weight / (weight + norm)
    ranked = sorted((-round(score, 9), unit) for unit, score in scores.items() if score)
    return [unit for rank, (_, unit) in enumerate(ranked) if rank < limit or unit in also], scores


@pytest.mark.parametrize("listed", [-1, 40, 10_000], ids=["in arrays", "in lists if they settle it", "in lists"])
@pytest.mark.parametrize("seed", range(12))
def test_what_cannot_matter_is_left_out_without_a_change(connection, small_blocks, monkeypatch, seed, listed):
    monkeypatch.setattr(lists, "LISTED_POSTINGS", listed)
    rng = random.Random(seed)
    folder = Folder(connection)
    words = [f"w{letter}" for letter in "abcdefghijklmnop"]
    often = [2.0**-at for at in range(len(words))]
    for number in range(40):
        units = [" ".join(rng.choices(words, often, k=rng.randint(1, 12))) for _ in range(rng.randint(1, 12))]
        folder.put(f"f{number % 30}", units)
    folder.writer.flush()
    alive = [unit for (unit,) in connection.execute("select id from units")]
    for _ in range(15):
        asked = rng.sample(words, rng.randint(1, 6))
        limit, also = rng.choice((1, 3, 10, 1000)), rng.sample(alive, rng.choice((0, 2)))
        forms = {asked[-1]: asked[0]} if len(asked) > 1 and rng.random() < 0.5 else {}
        expected, scores = scored_one_by_one(connection, asked, limit, also, forms)
        found = best_units(connection, asked, limit, also, forms)
        assert found == pytest.approx({unit: scores[unit] for unit in found})
        assert [round(scores[unit], 9) for unit in found] == [round(scores[unit], 9) for unit in expected]


def test_lists_and_arrays_give_the_same_scores_to_the_last_bit(connection, small_blocks, monkeypatch):
    rng = random.Random(7)
    folder = Folder(connection)
    words = [f"w{letter}" for letter in "abcdefghij"]
    folder.put("one", [" ".join(rng.choices(words, k=rng.randint(1, 30))) for _ in range(200)])
    folder.writer.flush()
    in_lists = best_units(connection, words, 20, [5, 150])
    monkeypatch.setattr(lists, "LISTED_POSTINGS", -1)
    assert list(best_units(connection, words, 20, [5, 150]).items()) == list(in_lists.items())


def test_other_forms_of_words_are_not_followed_in_a_very_large_index(connection, monkeypatch):
    folder = Folder(connection)
    folder.put("one", ["wa", "wb", "wb"])
    folder.writer.flush()
    assert len(best_units(connection, ["wa", "wb"], 10, forms={"wb": "wa"})) == 3
    monkeypatch.setattr(bm25, "OTHER_FORMS_UNTIL_UNITS", 2)
    assert len(best_units(connection, ["wa", "wb"], 10, forms={"wb": "wa"})) == 1


@pytest.mark.parametrize("listed", [lists.LISTED_POSTINGS, -1], ids=["in lists", "in arrays"])
def test_damaged_postings_are_the_indexs_fault(connection, small_blocks, monkeypatch, listed):
    monkeypatch.setattr(lists, "LISTED_POSTINGS", listed)
    folder = Folder(connection)
    folder.put("one", ["wa wb"] * 20)
    folder.writer.flush()
    connection.execute("update postings set places = cast(x'01' as blob) where word = 'wa'")
    with pytest.raises(sqlite3.DatabaseError, match="the words of the index are damaged"):
        best_units(connection, ["wa"], 10)


def test_units_that_are_asked_for_are_scored_beside_the_best(connection):
    folder = Folder(connection)
    folder.put("one", ["wa wa", "wa", "wb"])
    folder.writer.flush()
    assert set(best_units(connection, ["wa"], 1, [1, 2])) == {0, 1}
