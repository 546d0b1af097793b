"""Time to the first token with and without compression: `python -m tests.evals.context_speed`.

Run by hand; nothing is asserted. Two models are made on the spot, of random weights, because speed does not depend on
what they say: a target of the laguna architecture, and a scorer (qwen3) of about a tenth of its arithmetic. Both read
real code in Laguna Nano's vocabulary, on one thread. Seconds are the processor's, which others on the machine change
least. Without compression: the whole prompt. With it: cutting the files up, scoring, choosing, and the prompt that is
left. Floor: what scoring and the shorter prompt alone should take, from each model's speed on 4,096 tokens.
"""

import argparse
import os
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from laguna_engine.compress.scorer import Scorer
from laguna_engine.config import Speculation
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Token
from tests.evals import random_models
from tests.evals.keepers import measure
from tests.evals.needles import HELD, haystack
from tests.evals.ours import compressed

LENGTHS = (4_096, 8_192, 16_384, 32_768, 65_536)
KEEPS = (0.1, 0.3)
QUERY = "Which function reads the headers of a response, and what does it return when one is missing?"


@dataclass(frozen=True)
class Pair:
    """The open models; times in seconds."""

    engine: Engine
    scorer: Scorer

    def first_token(self, text: str) -> float:
        """From a text to the first token after it, nothing cached."""
        self.engine.clear()
        began = time.process_time()
        tokens = self.engine.vocab.tokenize(text, special=False)
        for event in self.engine.generate(Request(tokens, max_tokens=1)):
            if isinstance(event, Token):
                return time.process_time() - began
        raise RuntimeError("the model said nothing")

    def shortened(self, files: Sequence[tuple[str, str]], budget: int) -> tuple[str, float, float]:
        """Return what is left of the files; seconds of everything, and of scoring alone."""
        spent = 0.0

        def score(texts: Sequence[str], query: str):
            nonlocal spent
            began = time.process_time()
            scores = self.scorer.score(texts, query)
            spent += time.process_time() - began
            return scores

        began = time.process_time()
        text = compressed(
            files, QUERY, budget, score, lambda text: len(self.engine.vocab.tokenize(text, special=False))
        )
        return text, time.process_time() - began, spent


def prompt(files: Sequence[tuple[str, str]]) -> str:
    return "".join(text for _, text in files)


def rows(pair: Pair, length: int, rates: tuple[float, float] | None) -> list[str]:
    """The table's lines for one length. rates: tokens a second of target and scorer, None while they are unknown."""
    files = haystack(HELD, length, 0)
    whole = sum(measure(text) for _, text in files)
    full = pair.first_token(prompt(files))
    lines = []
    for keep in KEEPS:
        text, cutting, scoring = pair.shortened(files, int(keep * whole))
        short = pair.first_token(text + QUERY)
        total = cutting + short
        floor = f"{whole / rates[1] + keep * whole / rates[0]:.2f}" if rates else "–"
        parts = f"{scoring:.2f} | {cutting - scoring:.2f} | {short:.2f}"
        left = f"{measure(text):,}"
        lines.append(
            f"| {whole:,} | {keep} | {left} | {full:.2f} | {parts} | {total:.2f} | {floor} | {full / total:.1f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=re.sub(r"\s+", " ", __doc__ or ""))
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, help="tokens")
    asked = parser.parse_args()
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        target, scorer = random_models.write(Path(folder))
        options = EngineOptions(target, n_ctx=random_models.CONTEXT, threads=1, speculation=Speculation.OFF)
        with Engine.open(options) as engine, Scorer.open(scorer, threads=1) as opened:
            pair = Pair(engine, opened)
            sample = haystack(HELD, LENGTHS[0], 1)
            pair.first_token(prompt(sample))  # the first computation pays for pages and kernels
            pair.scorer.score([text for _, text in sample], QUERY)
            count = sum(measure(text) for _, text in sample)
            rates = count / pair.first_token(prompt(sample)), 0.0
            _, _, scoring = pair.shortened(sample, count // 10)
            rates = rates[0], count / scoring
            print(f"target {rates[0]:,.0f} tokens/s, scorer {rates[1]:,.0f} tokens/s on {count:,} tokens")
            columns = "tokens|keep|left|full, s|scoring, s|the rest, s|prefill, s|together, s|floor, s|times faster"
            print(f"| {columns.replace('|', ' | ')} |\n" + "|---" * 10 + "|")
            for length in asked.lengths:
                print(*rows(pair, length, rates), sep="\n", flush=True)
    print(f"\n{os.cpu_count()} cores, load {before:.1f} before and {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
