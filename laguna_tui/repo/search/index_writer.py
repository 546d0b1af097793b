"""Writer of the index's tables: a file is added or removed as a whole. Knows SQL; reads no files.

The caller holds the write lock, and calls `flush` before it commits.
"""

import os
import sqlite3

from laguna_tui.repo.search.file_parsing import ParsedFile
from laguna_tui.repo.search.postings_writer import PostingsWriter
from laguna_tui.repo.syntax.symbols import Span, Syntax

# Name ids cached while many files are written; a folder rarely has more names that occur twice.
_NAMES_HELD = 500_000
_NOTHING = Syntax("", False, (), (), {})


def pack_spans(spans: tuple[Span, ...]) -> str:
    """Return spans as text: "3-7 12-40"."""
    return " ".join(f"{start}-{stop}" for start, stop in spans)


def unpack_spans(text: str) -> tuple[Span, ...]:
    """Return the spans of `pack_spans`."""
    pairs = (piece.split("-") for piece in text.split())
    return tuple((int(start), int(stop)) for start, stop in pairs)


class IndexWriter:
    """Adds parsed files to the tables and removes them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection
        self._names: dict[str, int] = {}
        self._postings = PostingsWriter(connection)

    def put(self, path: str, found: ParsedFile, mtime_ns: int) -> None:
        """Replace a file by its parsed version; with `mtime_ns` 0 it is checked again at the next update."""
        self.drop(path)
        syntax = found.syntax or _NOTHING
        row = (
            os.fsencode(path),
            found.size,
            mtime_ns,
            found.digest,
            syntax.language,
            syntax.exact,
            found.syntax is not None,
        )
        file = self._insert(
            "insert into files (path, size, mtime_ns, digest, language, exact, text) values (?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        symbols = [
            self._insert(
                "insert into symbols (file, name, qualified, kind, start, stop, body, line, end, signature)"
                " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (file, self._name(symbol.name), symbol.qualified, symbol.kind.value, *symbol[3:]),
            )
            for symbol in syntax.symbols
        ]
        self._put_units(file, syntax, symbols, found)
        self._sql.executemany(
            "insert into refs (file, name, count) values (?, ?, ?)",
            [(file, self._name(name), count) for name, count in syntax.references.items()],
        )
        self._sql.executemany(
            "insert into imports (file, path) values (?, ?)", [(file, path) for path in syntax.imports]
        )

    def touch(self, path: str, size: int, mtime_ns: int) -> None:
        """Update size and time of a file with unchanged content."""
        self._sql.execute("update files set size = ?, mtime_ns = ? where path = ?", (size, mtime_ns, os.fsencode(path)))

    def drop(self, path: str) -> None:
        """Remove a file if it is there."""
        found = self._sql.execute("select id from files where path = ?", (os.fsencode(path),)).fetchone()
        if found is None:
            return
        (file,) = found
        units = self._sql.execute("select id from units where file = ?", (file,)).fetchall()
        self._postings.remove([unit for (unit,) in units])
        for table in ("units", "symbols", "refs", "imports"):
            self._sql.execute(f"delete from {table} where file = ?", (file,))
        self._sql.execute("delete from files where id = ?", (file,))

    def flush(self) -> None:
        """Write what is held of the units' words."""
        self._postings.flush()

    def compact(self) -> None:
        """Free some of the room that removed units still take."""
        self._postings.compact()

    def _put_units(self, file: int, syntax: Syntax, symbols: list[int], found: ParsedFile) -> None:
        first = self._postings.add(found.words)
        self._sql.executemany(
            "insert into units (id, file, symbol, title, line, end, spans) values (?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    first + place,
                    file,
                    None if unit.symbol is None else symbols[unit.symbol],
                    unit.title,
                    unit.line,
                    unit.end,
                    pack_spans(unit.spans),
                )
                for place, unit in enumerate(syntax.units)
            ],
        )

    def _name(self, name: str) -> int:
        known = self._names.get(name)
        if known is not None:
            return known
        if len(self._names) > _NAMES_HELD:
            self._names.clear()
        found = self._sql.execute("select id from names where name = ?", (name,)).fetchone()
        number = found[0] if found else self._insert("insert into names (name) values (?)", (name,))
        self._names[name] = number
        return int(number)

    def _insert(self, statement: str, row: tuple[object, ...]) -> int:
        return int(self._sql.execute(statement, row).lastrowid or 0)
