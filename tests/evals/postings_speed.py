"""How large postings are and how long they take: `python -m tests.evals.postings_speed [UNITS]`, a million by default.

Units of words drawn by Zipf's law, written in batches as an index writes them, then questions of one to eight words,
from the rarest to those that nearly every unit has. Only the words are measured: no file is read. Wall clock / seconds
of the processor. Nothing is asserted.
"""

import os
import random
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from laguna_tui.repo.search import index_database
from laguna_tui.repo.search.best_units import best_units
from laguna_tui.repo.search.file_parsing import FileWords
from laguna_tui.repo.search.postings_writer import PostingsWriter
from laguna_tui.repo.search.retrieval import BY_WORDS

UNITS = 1_000_000
WORDS_PER_UNIT = 60
VOCABULARY = 300_000
# Units that are written at once: those of about a thousand files.
BATCH_UNITS = 5_000
QUESTIONS = 300


def drawn(rng: np.random.Generator, number: int) -> np.ndarray:
    """Return ranks of words: the first ones are in nearly every unit, most are rare."""
    return np.minimum(rng.zipf(1.15, number), VOCABULARY) - 1


def batch(rng: np.random.Generator, units: int) -> FileWords:
    """Return the words of some units."""
    unit = np.repeat(np.arange(units, dtype=np.int64), WORDS_PER_UNIT)
    pairs, weight = np.unique(unit * VOCABULARY + drawn(rng, len(unit)), return_counts=True)
    used, word = np.unique(pairs % VOCABULARY, return_inverse=True)
    return FileWords(
        tuple(f"w{rank}" for rank in used.tolist()),
        word.astype(np.uint32).tobytes(),
        (pairs // VOCABULARY).astype(np.uint32).tobytes(),
        weight.astype(np.uint32).tobytes(),
        np.full(units, WORDS_PER_UNIT, np.uint32).tobytes(),
    )


def write(connection: sqlite3.Connection, units: int) -> tuple[float, float]:
    """Write the units; the seconds that the writer took, and those of the processor."""
    rng, seconds, used = np.random.default_rng(3), 0.0, 0.0
    writer = PostingsWriter(connection)
    for _ in range(0, units, BATCH_UNITS):
        words = batch(rng, BATCH_UNITS)
        began, before = time.perf_counter(), time.process_time()
        connection.execute("begin immediate")
        writer.add(words)
        writer.flush()
        connection.execute("commit")
        seconds += time.perf_counter() - began
        used += time.process_time() - before
    return seconds, used


def asked(connection: sqlite3.Connection) -> list[list[float]]:
    """Return seconds of the questions, and those of the processor; both sorted."""
    rng, numbers = np.random.default_rng(5), random.Random(5)
    times = []
    for _ in range(QUESTIONS):
        words = list(dict.fromkeys(f"w{rank}" for rank in drawn(rng, numbers.randint(1, 8)).tolist()))
        began, before = time.perf_counter(), time.process_time()
        best_units(connection, words, BY_WORDS)
        times.append((time.perf_counter() - began, time.process_time() - before))
    return [sorted(column) for column in zip(*times, strict=True)]


def main() -> None:
    units = int(sys.argv[1]) if len(sys.argv) > 1 else UNITS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.sqlite"
        connection = index_database.connect(path)
        seconds, used = write(connection, units)
        postings, kept = connection.execute(
            "select sum(length(weights)), sum(length(places) + length(weights)) from postings"
        ).fetchone()
        times = asked(connection)
        connection.execute("pragma wal_checkpoint(truncate)")
        connection.close()
        size = path.stat().st_size
    print(f"{units:,} units, {postings:,} postings, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print("| what | measured |\n|---|---|")
    print(f"| writing | {seconds:.1f} s / {used:.1f} s |")
    print(f"| postings / index on the disk | {kept / 1e6:.0f} / {size / 1e6:.0f} MB |")
    for share in (50, 95, 100):
        at = min(QUESTIONS * share // 100, QUESTIONS - 1)
        print(f"| question, p{share} | {times[0][at] * 1e3:.1f} ms / {times[1][at] * 1e3:.1f} ms |")


if __name__ == "__main__":
    main()
