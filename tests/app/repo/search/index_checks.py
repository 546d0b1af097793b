"""Whether the tables of an index agree with each other."""

import sqlite3

import numpy as np

from laguna_tui.repo.search import postings


def faults(connection: sqlite3.Connection) -> list[str]:
    """What does not fit, as sentences; empty when nothing does."""
    units = {unit for (unit,) in connection.execute("select id from units")}
    lengths = {
        block: (count, words, np.frombuffer(data, "<u2"))
        for block, count, words, data in connection.execute("select id, units, words, lengths from blocks")
    }
    alive = {
        block * postings.BLOCK_UNITS + int(at) for block, (_, _, held) in lengths.items() for at in np.flatnonzero(held)
    }
    found = [f"units without a length: {sorted(units - alive)[:3]}"] if units - alive else []
    found += [f"lengths without a unit: {sorted(alive - units)[:3]}"] if alive - units else []
    for block, (count, words, held) in lengths.items():
        if (count, words) != (np.count_nonzero(held), int(held.sum(dtype=np.int64))):
            found.append(f"block {block} is counted wrongly")
    worded: set[int] = set()
    for block, word, places, weights in connection.execute("select block, word, places, weights from postings"):
        place = np.frombuffer(places, np.uint16)
        if len(place) != len(weights) or not all(weights):
            found.append(f"postings of {word!r} without a weight in block {block}")
        if block not in lengths or (len(place) and place.max() >= len(lengths[block][2])):
            found.append(f"postings of {word!r} outside of block {block}")
        if (np.diff(place.astype(np.int64)) <= 0).any():
            found.append(f"postings of {word!r} name a unit twice, or in a wrong order")
        worded.update((block * postings.BLOCK_UNITS + place).tolist())
    found += [f"units without words: {sorted(units - worded)[:3]}"] if units - worded else []
    for table in ("units", "symbols", "refs", "imports"):
        orphans = connection.execute(
            f"select count(*) from {table} where file not in (select id from files)"
        ).fetchone()[0]
        found += [f"{orphans} {table} without a file"] if orphans else []
    return found
