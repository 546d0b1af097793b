"""Many clients at once, each with a long prompt of its own and a conversation that grows: nothing may fail or starve.

Run by hand: `python -m tests.bench.server_load [--clients 50] [--seconds 600] [--held GB] [--model nano]`. It prints
what each client had, what had to be computed again, and the memory of the process. A short sample is in the tests.
"""

import argparse
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from laguna_tui.server.http_server import ServerOptions
from tests.app.server import serving
from tests.app.server.serving import Served, served

MB = 1 << 20
FIRST_WORDS, MORE_WORDS, ANSWER_TOKENS, TURNS = 500, 40, 24, 6
"""Of a conversation: words of the first message, of each further one, tokens of an answer, messages until a new one."""


@dataclass
class Report:
    """What happened.

    Attributes:
        answers: of each client.
        waits: seconds of each answer.
        failures: what went wrong, with how often.
        read: prompt tokens that were computed.
        new: those of them that were new in their conversation.
        memory: bytes of the process, over time.
        waiting: those of them that are held conversations.
    """

    answers: Counter[int] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    read: int = 0
    new: int = 0
    memory: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    held: dict[str, float] = field(default_factory=dict)

    @property
    def read_again(self) -> int:
        """Return prompt tokens that had been computed before."""
        return max(0, self.read - self.new)


class Client:
    """One program: conversations one after another, each message as soon as the one before is answered."""

    def __init__(self, number: int, server: Served, report: Report, lock: threading.Lock) -> None:
        self._number, self._server, self._report, self._lock = number, server, report, lock
        self._random = random.Random(number)
        self._said: list[dict[str, Any]] = []
        self._known = 0

    def ask(self) -> None:
        """Send one message and note what came of it."""
        if len(self._said) >= 2 * TURNS:
            self._said, self._known = [], 0
        words = MORE_WORDS if self._said else FIRST_WORDS
        text = " ".join(f"{self._random.choice(_WORDS)}{self._random.randrange(100)}" for _ in range(words))
        self._said.append({"role": "user", "content": text})
        began = time.monotonic()
        body = {"messages": self._said, "max_tokens": ANSWER_TOKENS, "temperature": 0}
        try:
            answered = self._server.ask("POST", "/v1/chat/completions", body, {"User-Agent": f"client-{self._number}"})
        except OSError as error:
            self._failed(type(error).__name__)
            return
        if answered.status != 200:
            self._failed(str(answered.status))
            return
        usage = answered.body["usage"]
        computed = usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"]
        with self._lock:
            self._report.answers[self._number] += 1
            self._report.waits.append(time.monotonic() - began)
            self._report.read += computed
            self._report.new += usage["prompt_tokens"] - self._known
        self._known = usage["total_tokens"] - 1
        self._said.append(answered.body["choices"][0]["message"])

    def _failed(self, why: str) -> None:
        self._said, self._known = [], 0
        with self._lock:
            self._report.failures[why] += 1


_WORDS = ("cart", "price", "order", "stock", "shelf", "till", "paper", "glass", "river", "stone", "light", "track")


def load(model: Path | str, clients: int, *, rounds: int = 0, seconds: float = 0.0, held: int = 1 << 30) -> Report:
    """Run the clients for so many messages each, or for so long."""
    report, lock, over = Report(), threading.Lock(), threading.Event()
    process = psutil.Process()
    with served(model, ServerOptions(port=0, held_bytes=held)) as server:

        def work(number: int) -> None:
            client = Client(number, server, report, lock)
            asked = 0
            while not over.is_set() and (not rounds or asked < rounds):
                client.ask()
                asked += 1

        threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        ends = time.monotonic() + seconds
        while any(thread.is_alive() for thread in threads):
            report.memory.append(process.memory_info().rss)
            report.waiting.append(server.slot.healthy().engine.held.nbytes)
            if seconds and time.monotonic() > ends:
                over.set()
            threads[0].join(0.5)
            if not threads[0].is_alive():
                threads = [thread for thread in threads if thread.is_alive()] or threads[:1]
        report.held = {name: value for name, value in server.metrics().items() if name.startswith("held_")}
    return report


def main() -> None:
    """Run and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--held", type=float, default=1.0, help="GB")
    parser.add_argument("--model", default="nano")
    chosen = parser.parse_args()
    # All clients wait for one engine, on a busy machine for minutes.
    serving.WAIT_S = chosen.seconds
    report = load(chosen.model, chosen.clients, seconds=chosen.seconds, held=int(chosen.held * 1e9))
    counts = [report.answers[number] for number in range(chosen.clients)]
    quarter = max(1, len(report.memory) // 4)
    rows = {
        "answers": sum(counts),
        "failures": dict(report.failures) or 0,
        "answers of a client, fewest, median, most": f"{min(counts)}, {median(counts):g}, {max(counts)}",
        "seconds of an answer, median, longest": f"{median(report.waits):.2f}, {max(report.waits):.2f}",
        "prompt tokens computed": report.read,
        "of them computed again": f"{report.read_again} ({report.read_again / max(1, report.read):.1%})",
        "held, swapped, given up": ", ".join(
            f"{report.held[f'held_{name}']:g}" for name in ("conversations", "swaps_total", "dropped_total")
        ),
        "resident MB after a quarter, half, at the end (of it held conversations)": ", ".join(
            f"{report.memory[at] / MB:.0f} ({report.waiting[at] / MB:.0f})" for at in (quarter, 2 * quarter, -1)
        ),
    }
    print("| | |\n|---|---|")
    for name, value in rows.items():
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
