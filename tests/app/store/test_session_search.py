"""Sessions are found by parts of words, with accents or without, misspelt, and only by what was not undone."""

import pytest

from laguna_tui.store import session_search
from laguna_tui.store.events import HistoryMoved, MessageSent
from laguna_tui.store.session_store import SessionStore
from tests.app.store.kept_sessions import begun, kept, turn

SAID = "The parser raises an Error where tree_sitter is naïve about the Umlaut in Größe."


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "state", tmp_path / "cache")


def found(store, words):
    return [each.id for each in store.search(words)]


@pytest.mark.parametrize("words", ["arse", "RAISE error", "sitter", "ee_si", "GRÖ", "umlaut groß", "naïve", "an"])
def test_parts_of_words_are_found_in_messages(store, words):
    session = kept(store.folder, ("what happens?", SAID))
    kept(store.folder, ("something else", "no"))
    assert found(store, words) == [session]


@pytest.mark.parametrize(
    "words", ["paresr", "parsr", "pasrer", "eror", "tree_siter", "umluat", "hapens parserr", "stiter"]
)
def test_misspelt_words_are_found_in_messages(store, words):
    session = kept(store.folder, ("what happens?", SAID))
    kept(store.folder, ("something else", "no"))
    assert found(store, words) == [session]
    assert store.search(words)[0].snippet.strip("…") in f"what happens? {SAID}"


@pytest.mark.parametrize("words", ["setings", "overveiw", "seting overview"])
def test_misspelt_words_are_found_in_titles(store, words):
    session = kept(store.folder, ("x", "y"), title="Settings overview")
    kept(store.folder, ("something else", "no"))
    assert found(store, words) == [session]


def test_misspelt_words_count_only_where_nothing_has_the_words_as_they_are(store):
    misspelt = kept(store.folder, ("x", "y"), title="The prser")
    assert found(store, "parser") == [misspelt]
    exact = kept(store.folder, ("x", "the parser"))
    assert found(store, "parser") == [exact]


@pytest.mark.parametrize("words", ["elephant", "xyz", "qu", "the elephant", "so"])
def test_other_words_are_not_found(store, words):
    kept(store.folder, ("what happens?", SAID))
    assert found(store, words) == []


def test_every_word_of_a_long_text_is_found_where_it_stands(store):
    words = [f"word{number}x" for number in range(20_000)]
    session = kept(store.folder, ("count", " ".join(words)))
    for word in words[::1_999]:
        (each,) = store.search(word)
        assert (each.id, word in each.snippet) == (session, True)


def test_what_was_undone_is_not_found_until_it_is_redone(store):
    journal = begun(store.folder, ("zebra", "one"), ("giraffe", "elephant"))
    assert found(store, "elephant") == [journal.id]
    journal.append(HistoryMoved(position=1))
    assert found(store, "giraffe") == found(store, "elephant") == found(store, "elefant") == []
    assert store.newest()[0].turns == 1
    journal.append(HistoryMoved(position=2))
    assert found(store, "elephant") == [journal.id]
    journal.close()


def test_a_turn_that_takes_the_place_of_another_is_found_instead(store):
    journal = begun(store.folder, ("zebra", "one"), ("giraffe", "elephant"))
    journal.append(HistoryMoved(position=0))
    store.newest()
    journal.append(MessageSent(message="lion"))
    journal.append(turn(3, "lion"))
    assert found(store, "lion") == [journal.id]
    assert store.newest()[0].title == "lion"
    journal.append(HistoryMoved(position=2))
    assert found(store, "zebra") == found(store, "elephant") == []
    journal.close()


def test_texts_of_a_deleted_session_are_in_no_file_of_the_index(store):
    session = kept(store.folder, ("zebra", "unmistakable"))
    assert found(store, "unmistakable") == [session]
    store.delete([session])
    assert found(store, "unmistakable") == []
    for path in store.folder.glob("index.db*"):
        assert b"unmistakable" not in path.read_bytes()


def test_where_sqlite_has_no_trigrams_every_text_is_read(store, monkeypatch):
    monkeypatch.setattr(session_search, "SCHEMA", "create virtual table trigrams using fts5(folded, tokenize='none')")
    session = kept(store.folder, ("what happens?", SAID))
    kept(store.folder, ("something else", "no"))
    assert found(store, "arse") == [session]
    assert found(store, "paresr") == [session]
