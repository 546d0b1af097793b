"""Searches the texts of sessions: parts of words, regardless of case and accents, and words with a typing error.

An index of trigrams gives the pieces of text that may have the words; whether they do is looked up in the piece itself.
Where SQLite has no trigrams (before 3.34), every piece is read.
"""

import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache

SCHEMA = "create virtual table trigrams using fts5(folded, content='', detail='none', tokenize='trigram')"
_TRIGRAM = 3
# A shorter word with an error in it is another word.
_LEAST_MISSPELT = 4
# Of difflib's ratio: a letter more or less in a word of four, or two of five letters that changed places.
_SIMILAR = 0.78
# An error removes at most this many trigrams from a word: two letters that changed places.
_LOST_BY_AN_ERROR = 4
_MISSPELT_PIECES = 60
"""How many pieces are searched for misspelt words: each takes milliseconds."""
_FOUND = 200
_SNIPPET_CHARS = 80
_WORD, _PART = re.compile(r"\w+"), re.compile(r"[^\W_]+")

_VISIBLE = """
select pieces.session, pieces.body from pieces join sessions on sessions.id = pieces.session
left join turns on turns.session = pieces.session and turns.number = pieces.number
where (pieces.number = 0 or turns.at < sessions.position) {these}
order by sessions.updated desc, pieces.session desc, pieces.id desc
"""
"""Pieces of turns that are not undone, of the newest session first."""


def fold(text: str) -> str:
    """Return the text in lower case and without accents, each character in its place."""
    # SQLite's tokenizer would end at a NUL.
    text = text.replace("\0", " ")
    return text.lower() if text.isascii() else "".join(map(_folded, text))


def words_of(text: str) -> list[str]:
    """Return the words to search, folded."""
    plain = text.encode("utf-8", "replace").decode()
    return _WORD.findall(fold(unicodedata.normalize("NFC", plain)))


def is_like(word: str, words: Iterable[str]) -> str:
    """Return the one of these words that `word` may be with a typing error; empty for none. All are folded."""
    if len(word) < _LEAST_MISSPELT:
        return ""
    near = {each for each in words if abs(len(each) - len(word)) <= 2}
    found = get_close_matches(word, near, n=1, cutoff=_SIMILAR)
    return found[0] if found else ""


def has_words(text: str, words: Sequence[str], *, misspelt: bool = False) -> bool:
    """Return whether a short text has all of the folded words, as parts of its own.

    Args:
        text: As it is.
        words: From `words_of`.
        misspelt: Words with a typing error count too.
    """
    folded = fold(unicodedata.normalize("NFC", text))
    return all(_place(folded, word, misspelt=misspelt) is not None for word in words)


def add_trigrams(connection: sqlite3.Connection, piece: int, body: str) -> None:
    """Index a piece of text."""
    if _has_trigrams(connection):
        connection.execute("insert into trigrams (rowid, folded) values (?, ?)", (piece, fold(body)))


def remove_trigrams(connection: sqlite3.Connection, piece: int, body: str) -> None:
    """Remove a piece of text from the index."""
    if _has_trigrams(connection):
        command = "insert into trigrams (trigrams, rowid, folded) values ('delete', ?, ?)"
        connection.execute(command, (piece, fold(body)))


def forget_removed(connection: sqlite3.Connection) -> None:
    """Remove what is left of removed pieces from the index's file."""
    if _has_trigrams(connection):
        connection.execute("insert into trigrams (trigrams) values ('optimize')")


def search(connection: sqlite3.Connection, words: Sequence[str], *, misspelt: bool = False) -> Mapping[str, str]:
    """Return the sessions with a text that has all of the words, newest first: their IDs, each with a snippet.

    What was undone is not found.

    Args:
        connection: To the index.
        words: From `words_of`.
        misspelt: Words with a typing error count too.
    """
    found: dict[str, str] = {}
    if not words:
        return found
    pieces = _similar_pieces(connection, words) if misspelt else _pieces(connection, words)
    for session, body in pieces:
        if session in found:
            continue
        folded = fold(body)
        places = [_place(folded, word, misspelt=misspelt) for word in words]
        known = [place for place in places if place is not None]
        if len(known) == len(places):
            found[session] = _snippet(body, min(known))
            if len(found) == _FOUND:
                break
    return found


def _pieces(connection: sqlite3.Connection, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the session and the text of each piece that may have the words."""
    trigrams = sorted({trigram for word in words for trigram in _trigrams(word)})
    if not trigrams or not _has_trigrams(connection):
        yield from connection.execute(_VISIBLE.format(these=""))
        return
    these = "and pieces.id in (select rowid from trigrams where trigrams match ?)"
    yield from connection.execute(_VISIBLE.format(these=these), (" AND ".join(map(_quoted, trigrams)),))


def _similar_pieces(connection: sqlite3.Connection, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield pieces that may have the words with an error: those with many of their trigrams, and the newest ones.

    Two letters that changed places leave none of the trigrams of a short word.
    """
    if not any(len(word) >= _LEAST_MISSPELT for word in words):
        return
    if _has_trigrams(connection):
        yield from _with_many_trigrams(connection, words)
    yield from connection.execute(f"{_VISIBLE.format(these='')} limit {_MISSPELT_PIECES}")


def _with_many_trigrams(connection: sqlite3.Connection, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    shared = Counter[int]()
    trigrams = {trigram for word in words for trigram in _trigrams(word)}
    for trigram in trigrams:
        rows = connection.execute("select rowid from trigrams where trigrams match ?", (_quoted(trigram),))
        shared.update(row for (row,) in rows)
    least = max(1, len(trigrams) - _LOST_BY_AN_ERROR * len(words))
    best = [row for row, count in shared.most_common(_MISSPELT_PIECES) if count >= least]
    marks = ", ".join("?" for _ in best)
    yield from connection.execute(_VISIBLE.format(these=f"and pieces.id in ({marks})"), best)


def _place(folded: str, word: str, *, misspelt: bool) -> int | None:
    """Return the place of a word in a folded text, or of one that it may be misspelt for; None if there is none."""
    at = folded.find(word)
    if at < 0 and misspelt and (other := is_like(word, {*_WORD.findall(folded), *_PART.findall(folded)})):
        at = folded.find(other)
    return at if at >= 0 else None


def _snippet(body: str, at: int) -> str:
    """Return the words around a place, on one line."""
    start = max(0, at - _SNIPPET_CHARS // 2)
    # Not from the middle of a word.
    if start and (blank := body.find(" ", start, at)) >= 0:
        start = blank + 1
    end = start + _SNIPPET_CHARS
    if end < len(body) and (blank := body.rfind(" ", at + 1, end)) >= 0:
        end = blank
    words = " ".join(body[start:end].split())
    return f"{'…' if start else ''}{words}{'…' if end < len(body) else ''}"


def _trigrams(word: str) -> Iterator[str]:
    return (word[at : at + _TRIGRAM] for at in range(len(word) - _TRIGRAM + 1))


def _quoted(trigram: str) -> str:
    return f'"{trigram}"'


def _has_trigrams(connection: sqlite3.Connection) -> bool:
    return connection.execute("select 1 from sqlite_master where name = 'trigrams'").fetchone() is not None


def make_trigrams(connection: sqlite3.Connection) -> None:
    """Create the table, if SQLite can."""
    with suppress(sqlite3.OperationalError):
        connection.execute(SCHEMA)


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    plain = unicodedata.normalize("NFD", character)[0].lower()
    return plain if len(plain) == 1 else character
