"""Judge the scorer as the engine runs it, beside its rivals: word overlap, and chance.

    python scorer_engine.py WORK ../laguna-nano-scorer.gguf

Runs in the app's environment, over the cases of `scorer_cases.py`.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from scorer_cases import Case, load, report

from laguna_engine.compress.scorer import Scorer
from laguna_tui.context.compression.lexicon import Lexicon
from laguna_tui.context.compression.relevance import fuse


def by_words(case: Case) -> list[float]:
    """The engine's own BM25."""
    lexicon = Lexicon(case.query, case.texts)
    return lexicon.scores([[index] for index in range(len(case.texts))])


def main() -> None:
    """Read the command line, score, and print every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only every n-th case")
    options = parser.parse_args()
    cases, rng = load(options.work)[:: options.every], random.Random(0)
    words = [by_words(case) for case in cases]
    print(report("chance", cases, [[rng.random() for _ in case.texts] for case in cases]))
    print(report("words (BM25)", cases, words), flush=True)
    with Scorer.open(options.model, threads=1) as scorer:
        found = [scorer.score(case.texts, case.query) for case in cases]
        print(f"{scorer.tokens} tokens, {scorer.rate:.0f} a second in the last call")
    attention = [[one.attention for one in scores] for scores in found]
    gain = [[one.gain for one in scores] for scores in found]
    (options.work / "engine.json").write_text(json.dumps({"attention": attention, "gain": gain}))
    print(report("tail attention", cases, attention))
    print(report("gain", cases, gain))
    print(report("tail attention + gain", cases, [fuse([0.0] * len(scores), scores) for scores in found]))
    print(report("words + tail attention + gain", cases, [fuse(*pair) for pair in zip(words, found, strict=True)]))


if __name__ == "__main__":
    main()
