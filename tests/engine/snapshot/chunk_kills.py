"""Writes chunk files of snapshots until it is killed: `python -m tests.kills snapshot`."""

import random
from collections.abc import Sequence
from itertools import count

import numpy as np

from laguna_engine.errors import SnapshotError
from laguna_engine.llama.sequence_state import RowLayout, Rows
from laguna_engine.snapshot.chunk_file import PARTIAL, ROWS, SUFFIX, ChunkReader, ChunkWriter, read_chunk
from laguna_engine.snapshot.identity import Identity
from tests.kills import Report, Victim

IDENTITY = Identity("m", "b", "f16", False, 1000)
LAYOUT = RowLayout(((1, 512), (1, 512)), ((1, 512), (1, 512)))
CHANCE = np.random.default_rng(3)
ROWS_TO_WRITE = Rows(0, LAYOUT, tuple(CHANCE.integers(0, 256, (200, width), np.uint8) for width in LAYOUT.widths))


class ChunkFileWriter(Victim):
    """Writes one chunk after another. Its state is what a kill left: whole files, a partial one, or both."""

    longest_s = 0.02

    def work(self, chance: random.Random, report: Report) -> None:
        report("started")
        for serial in count():
            writer = ChunkWriter(self.folder)
            for start in range(0, 200, 20):
                writer.add(ROWS, ROWS_TO_WRITE.part(start, start + 20))
            writer.commit(
                parent=None, serial=serial, identity=IDENTITY, start=0, tokens=list(range(200)), caches=1,
                wanted={ROWS: 0}, drafter=None,
            )  # fmt: skip

    def learn(self, line: str) -> None:
        self.state = line

    def check(self, reports: Sequence[str], report: Report) -> None:
        whole, partial = list(self.folder.glob(f"*{SUFFIX}")), list(self.folder.glob(f"*{PARTIAL}"))
        report(f"{'whole' if whole else 'no'} files, {'a' if partial else 'no'} partial one")
        for path in whole:
            with ChunkReader() as reader:
                chunk = read_chunk(path)
                for section in chunk.sections.values():
                    for part in section.parts:
                        reader.rows(chunk, section.layout, part)
            path.unlink()
        for path in partial:
            # Refused even under the name of a whole one.
            renamed = path.rename(path.with_suffix(SUFFIX))
            try:
                read_chunk(renamed)
            except SnapshotError:
                renamed.unlink()
            else:
                raise AssertionError("a partial file was accepted under another name")
