"""Processes that write an index are killed at random moments, one or two at a time, and the index stays consistent.

`python -m tests.app.repo.search.index_kills [MOMENTS]`, 200 by default; the suite has a short sample
(`test_index_kills.py`). After each kill the tables must agree with each other as they are, and after one more look
with a new index.
"""

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from laguna_tui.repo.search import index_database
from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.ranking import search
from tests.app.repo.search.index_checks import faults

MOMENTS = 200
_FILES = 60
_LONGEST_S = 0.4
_WORDS = "cart price total report refund order parse config".split()
# Changes files and brings the index up to date, for ever.
_WRITER = """
import random, sys
from pathlib import Path
from laguna_tui.repo.search import index_update
from laguna_tui.repo.search.index import Index
from tests.app.repo.search.index_kills import change
index_update._COMMIT_S = 0.01
root, cache, rng = Path(sys.argv[1]), Path(sys.argv[2]), random.Random(int(sys.argv[3]))
with Index.open(root, cache) as index:
    print("ready", flush=True)
    while True:
        for _ in range(8):
            change(root, rng)
        index.refresh(workers=0)
"""


def change(root: Path, rng: random.Random) -> None:
    """Write or delete one file, atomically enough for a reader that may see none of it."""
    path = root / f"module{rng.randrange(_FILES)}.py"
    if rng.random() < 0.2:
        path.unlink(missing_ok=True)
        return
    names = ["_".join(rng.choices(_WORDS, k=2)) for _ in range(rng.randint(1, 6))]
    path.write_text("".join(f"def {name}({rng.choice(_WORDS)}):\n    return {rng.randrange(1000)}\n" for name in names))


def killed(root: Path, cache: Path, rng: random.Random, writers: int) -> list[str]:
    """Start writers, kill them at a random moment; what does not fit then, and after the next look."""
    command = [sys.executable, "-c", _WRITER, str(root), str(cache)]
    running = [subprocess.Popen([*command, str(rng.randrange(10**9))], stdout=subprocess.PIPE) for _ in range(writers)]
    try:
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()
        time.sleep(rng.uniform(0.0, _LONGEST_S))
    finally:
        for process in running:
            process.send_signal(signal.SIGKILL)
            process.communicate()
    connection = index_database.connect_reader(index_database.index_path(root, cache))
    try:
        found = faults(connection)
    finally:
        connection.close()
    with (
        tempfile.TemporaryDirectory() as other,
        Index.open(root, cache) as index,
        Index.open(root, Path(other)) as fresh,
    ):
        index.refresh(workers=0)
        fresh.refresh(workers=0)
        found += [*index.notes, *faults(index.connection)]
        found += [f"{word!r} finds something else" for word in _WORDS if _found(index, word) != _found(fresh, word)]
    return found


def _found(index: Index, word: str) -> list[tuple[str, int]]:
    return sorted((result.unit.path, result.unit.line) for result in search(index.connection, word, 10_000))


def main() -> None:
    moments = int(sys.argv[1]) if len(sys.argv) > 1 else MOMENTS
    rng = random.Random(23)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        root, cache = Path(folder) / "root", Path(folder) / "cache"
        root.mkdir()
        for moment in range(moments):
            found = killed(root, cache, rng, writers=1 + moment % 2)
            wrong += bool(found)
            if found:
                print(f"moment {moment}: {found}", flush=True)
    print(f"{moments} moments, {wrong} of them left a fault")


if __name__ == "__main__":
    main()
