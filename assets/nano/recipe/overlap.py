"""Does the model repeat its training corpus? A scan of what it writes for runs of 50 of its tokens that stand there.

    python overlap.py WORK ../laguna-nano.gguf [--chats 36] [--pieces 40]

Runs in the app's environment, after `collect.py`. Half of what it writes continues code, half answers questions; half
is about packages that it was trained on, half about held-out ones; half is greedy, half drawn at temperature 0.7. Two
sorts of runs are counted apart: what stands in what the model was shown, for to copy from there is its job, and what
has no letter in it. Deals in bytes, so that a run is found whatever tokens the corpus would have there.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from apptools import OWN, Tools, copies
from cases import Cases, converse, pairs
from drafter_answers import continued, excerpt, source_files
from sources import trained, unpacked
from speaker import Chat, Speaker, sampled

from laguna_engine.config import GREEDY, Sampling

RUN = 50  # tokens
PROBE = RUN // 2  # every run of 50 holds an aligned one of 25, which is looked for first
SEED = 50
PACKAGES = 6  # of those trained on that are asked about, as many as are held out
COLUMNS = ("texts", "runs", "copied", "blank", "repeated")
SHOWN = 120  # characters of a run that is printed


@dataclass(frozen=True, slots=True)
class Sample:
    """What the model wrote, as tokens, and what it had been shown before."""

    kind: str
    said: Sequence[int]
    shown: bytes


def runs_in(said: Sequence[int], corpus: bytes, text_of: Callable[[Sequence[int]], bytes]) -> Iterator[bytes]:
    """Every run of RUN tokens of `said` that stands in the corpus, as it is written there."""
    for start in range(0, len(said) - PROBE + 1, PROBE):
        if text_of(said[start : start + PROBE]) not in corpus:
            continue
        # Runs that hold this probe and not the one before it.
        for first in range(max(0, start - PROBE + 1), start + 1):
            run = text_of(said[first : first + RUN])
            if first + RUN <= len(said) and run in corpus:
                yield run


def corpus_of(work: Path) -> bytes:
    """All the code of the packages that are trained on, and all that the app's tools said of it."""
    names = sorted(trained(work))
    files = [path.read_bytes() for name in names for path in sorted((work / "repos" / name).rglob("*.py"))]
    results = [e["result"] for n in names for e in json.loads((work / "results" / f"{n}.json").read_text())]
    return b"\0".join([*files, *(result.encode() for result in results)])


def written(speaker: Speaker, ids: Sequence[int], spans: Sequence[tuple[int, int]], kind: str) -> Iterator[Sample]:
    """A sample for every span that the model wrote."""
    for start, stop in spans:
        yield Sample(kind, ids[start:stop], text(speaker, ids[:start]))


def text(speaker: Speaker, ids: Sequence[int]) -> bytes:
    """The tokens' bytes."""
    return b"".join(map(speaker.vocab.piece, ids))


def samples(speaker: Speaker, work: Path, names: list[str], about: str, chats: int, number: int) -> Iterator[Sample]:
    """Chats and continued code about the named packages, each greedy and drawn."""
    rng, files = random.Random(SEED), source_files(work / "repos", names)
    for sampling in (GREEDY, sampled(SEED)):
        for start in [excerpt(files, rng) for _ in range(number)]:
            sequence = continued(speaker, start, sampling)
            yield from written(speaker, sequence.ids, sequence.spans, kind(f"code of {about}", sampling))
    with copies({name: work / "repos" / name for name in names}) as repositories:
        tools = {name: Tools(path) for name, path in repositories.items()}
        for sampling in (GREEDY, sampled(SEED)):
            cases = Cases(SEED, repositories, OWN)
            asked = (pair for index in count() for pair in pairs(cases.group(index)))
            for first, second in islice(asked, chats):
                chat = Chat(speaker, sampling)
                list(converse(chat, first, second, tools))
                yield from written(speaker, chat.ids, chat.spans, kind(f"chats about {about}", sampling))


def kind(what: str, sampling: Sampling) -> str:
    """A row of the table."""
    return f"{what}, {f'temperature {sampling.temperature}' if sampling.temperature else 'greedy'}"


def main() -> None:
    """Print a row for each kind of text, and every run that stands in the corpus and was not shown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--chats", type=int, default=36, help="of each of the four kinds")
    parser.add_argument("--pieces", type=int, default=40, help="of code, of each of the four kinds")
    options = parser.parse_args()
    speaker, corpus = Speaker(options.model), corpus_of(options.work)
    known = unpacked(options.work, held_out=False)
    kept = random.Random(SEED).sample(known, min(PACKAGES, len(known)))
    about = {"trained packages": kept, "held-out packages": unpacked(options.work, held_out=True)}
    counts: Counter[tuple[str, str]] = Counter()
    for whose, names in about.items():
        for sample in samples(speaker, options.work, names, whose, options.chats, options.pieces):
            found = list(runs_in(sample.said, corpus, lambda ids: text(speaker, ids)))
            new = [run for run in found if run not in sample.shown]
            own = [run for run in new if re.search(rb"[A-Za-z]", run)]
            counts[sample.kind, "texts"] += 1
            counts[sample.kind, "runs"] += max(0, len(sample.said) - RUN + 1)
            counts[sample.kind, "copied"] += len(found) - len(new)
            counts[sample.kind, "blank"] += len(new) - len(own)
            counts[sample.kind, "repeated"] += len(own)
            for run in own[:1]:
                print(f"{sample.kind}: {run[:SHOWN]!r}", flush=True)
    columns = f"texts | runs of {RUN} tokens | in it: shown before | without a letter | other"
    print(f"| {len(corpus) / 1e6:.0f} MB of corpus | {columns} |\n|---|---|---|---|---|---|")
    for what in dict.fromkeys(name for name, _ in counts):
        print(f"| {what} | " + " | ".join(str(counts[what, column]) for column in COLUMNS) + " |")


if __name__ == "__main__":
    main()
