"""Writes an index, alone or beside another writer, until it is killed: `python -m tests.kills index`."""

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from laguna_tui.repo.search import index_database, index_update
from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.ranking import search
from tests.app.repo.search.index_checks import faults
from tests.kills import Report, Victim

_FILES = 60
_WORDS = "cart price total report refund order parse config".split()


class IndexWriter(Victim):
    """Changes files and updates the index, whose tables must agree after a kill, and after an update with a new one."""

    longest_s = 0.4
    kills_per_folder = 200
    most_processes = 2

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._root, self._cache = folder / "root", folder / "cache"
        self._root.mkdir()

    def work(self, chance: random.Random, report: Report) -> None:
        index_update._COMMIT_S = 0.01
        with Index.open(self._root, self._cache) as index:
            report("ready")
            while True:
                for _ in range(8):
                    self._change_a_file(chance)
                index.refresh(workers=0)

    def learn(self, line: str) -> None:
        self.state = line

    def check(self, reports: Sequence[str], report: Report) -> None:
        report(f"{len(reports)} writing")
        connection = index_database.connect_reader(index_database.index_path(self._root, self._cache))
        assert faults(connection) == []
        connection.close()
        with (
            tempfile.TemporaryDirectory() as other,
            Index.open(self._root, self._cache) as index,
            Index.open(self._root, Path(other)) as fresh,
        ):
            index.refresh(workers=0)
            fresh.refresh(workers=0)
            assert [*index.notes, *faults(index.connection)] == []
            for word in _WORDS:
                assert _found(index, word) == _found(fresh, word), word

    def _change_a_file(self, chance: random.Random) -> None:
        """Write or delete one file; a reader may see a part of it."""
        path = self._root / f"module{chance.randrange(_FILES)}.py"
        if chance.random() < 0.2:
            path.unlink(missing_ok=True)
            return
        names = ["_".join(chance.choices(_WORDS, k=2)) for _ in range(chance.randint(1, 6))]
        functions = [f"def {name}({chance.choice(_WORDS)}):\n    return {chance.randrange(1000)}\n" for name in names]
        path.write_text("".join(functions))


def _found(index: Index, word: str) -> list[tuple[str, int]]:
    return sorted((result.unit.path, result.unit.line) for result in search(index.connection, word, 10_000))
