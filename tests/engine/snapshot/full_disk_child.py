"""Run in a process of its own, because the limit is the process's: `full_disk_child.py TINY FOLDER`.

Prints how many limits were tried. Whatever the limit, the engine continues, nothing is left, and the next try works.
"""

import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from laguna_engine.engine import Engine
from laguna_engine.errors import SnapshotError, SnapshotProblem
from tests.engine.snapshot.chats import EARLIER, MESSAGES, options, say


def limited(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def main() -> None:
    model, folder = map(Path, sys.argv[1:])
    tried = 0
    with Engine.open(options(model)) as engine, Engine.open(options(model)) as other:
        chat = [*EARLIER, *say(engine, EARLIER, 30).tokens]
        size = engine.snapshot(folder / "whole").nbytes
        for limit in [*range(0, size, size // 150), *range(size - 3000, size, 100), size - 1]:
            limited(limit)
            try:
                engine.snapshot(folder / "kept")
            except SnapshotError as error:
                assert error.problem is SnapshotProblem.DISK, error
                assert "cannot be written" in str(error)
            else:
                raise AssertionError(f"{limit} bytes were enough")
            finally:
                limited(resource.RLIM_INFINITY)
            assert list((folder / "kept").iterdir()) == []
            tried += 1
        assert engine.snapshot(folder / "kept").tokens == len(chat) - 1
        prompt = [*chat, *MESSAGES[0]]
        assert other.restore(folder / "kept", prompt).tokens == len(chat) - 1
        assert say(other, prompt, 5).cached == len(chat) - 1
    print(tried)


if __name__ == "__main__":
    main()
