"""Run in a process of its own, which forks: `killed_child.py TINY FOLDER`.

Kills 300 processes at random moments while they write chunks. Prints the kills, how many files were left half written,
and how many whole ones there are, every byte of which was checked.
"""

import os
import random
import signal
import sys
import time
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import numpy as np

from laguna_engine.errors import SnapshotError
from laguna_engine.llama.sequence_state import RowLayout, Rows
from laguna_engine.snapshot.chunk_file import PARTIAL, ROWS, SUFFIX, ChunkReader, ChunkWriter, read_chunk
from laguna_engine.snapshot.identity import Identity

IDENTITY = Identity("m", "b", "f16", False, 1000)
LAYOUT = RowLayout(((1, 512), (1, 512)), ((1, 512), (1, 512)))


CHANCE = np.random.default_rng(3)
ROWS_TO_WRITE = Rows(0, LAYOUT, tuple(CHANCE.integers(0, 256, (200, width), np.uint8) for width in LAYOUT.widths))


def write_for_ever(folder: Path) -> None:
    for serial in count():
        writer = ChunkWriter(folder)
        for start in range(0, 200, 20):
            writer.add(ROWS, ROWS_TO_WRITE.part(start, start + 20))
        writer.commit(
            parent=None, serial=serial, identity=IDENTITY, start=0, tokens=list(range(200)), caches=1,
            wanted={ROWS: 0}, drafter=None,
        )  # fmt: skip


def check(folder: Path) -> int:
    """The number of chunks, all parts of which are as they were written; removes them."""
    found = 0
    for path in folder.glob(f"*{SUFFIX}"):
        with ChunkReader() as reader:
            chunk = read_chunk(path)
            for section in chunk.sections.values():
                for part in section.parts:
                    reader.rows(chunk, section.layout, part)
        found += 1
        path.unlink()
    return found


def main() -> None:
    folder = Path(sys.argv[2]) / "killed"
    chance = random.Random(5)
    torn = whole = 0
    for _ in range(300):
        child = os.fork()
        if not child:
            write_for_ever(folder)
        time.sleep(chance.uniform(0.0005, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        whole += check(folder) if folder.is_dir() else 0
        for partial in folder.glob(f"*{PARTIAL}"):
            # Even under the name of a whole one it is refused.
            renamed = partial.with_suffix(SUFFIX)
            partial.rename(renamed)
            try:
                read_chunk(renamed)
            except SnapshotError:
                torn += 1
            else:
                # Killed between the last write and the renaming: whole, but under another name.
                raise AssertionError("a file with another name was accepted")
            renamed.unlink()
    print(300, torn, whole)


if __name__ == "__main__":
    main()
