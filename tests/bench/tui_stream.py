"""The cost of drawing a stream: CPU share and lag of the event loop, by kind of Markdown and speed.

Run by hand: `python -m tests.bench.tui_stream [seconds]`. A thread feeds tokens of four characters at an exact rate
into a headless 120x40 app; the loop's lag is how late a 10 ms timer fires. The CPU share is the whole process's,
less what the feeding thread takes with nothing drawn.
"""

import asyncio
import resource
import sys
import time
from collections.abc import Callable, Iterator

from laguna_tui.base.events import AgentEvent, TextDelta, TurnEnd, TurnFinished
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.tui_settings import TuiSettings
from tests.tui.scripted import PlayedChat, PlayedSession

SIZE = (120, 40)
RATES = (200, 600)
TOKEN = 4
PROBE_S = 0.01

WORDS = "The cache keeps the *longest* common prefix of what was `computed` and drops the **rest** of it. "
KINDS: dict[str, Callable[[int], str]] = {
    "paragraphs": lambda size: (WORDS * 4 + "\n\n") * (size // 400 + 1),
    "one long paragraph": lambda size: WORDS * (size // 90 + 1),
    "long code fence": lambda size: "```python\n" + "    value = compute(first, second)  # why\n" * (size // 40 + 1),
    "long list": lambda size: (
        "- an item about `something` that is **bold** and long enough to wrap once or twice\n" * (size // 80 + 1)
    ),
    "table": lambda size: (
        "| name | what it does | cost |\n|---|---|--:|\n"
        + "| `prefix` | keeps the **front** | 1,234 |\n" * (size // 42 + 1)
    ),
}


class PacedChat(PlayedChat):
    """Streams one text at an exact rate. Stands in for the engine and does no work of its own."""

    text, rate = "", 0.0

    def ask(self, message: str) -> Iterator[AgentEvent]:
        started = time.perf_counter()
        for number, at in enumerate(range(0, len(self.text), TOKEN)):
            time.sleep(max(0.0, started + number / self.rate - time.perf_counter()))
            yield TextDelta(self.text[at : at + TOKEN])
        self.ended.set()
        yield TurnFinished(TurnEnd.ANSWERED)


async def measure(text: str, rate: float, before: str = "") -> tuple[float, float, float]:
    """Return CPU share in percent, and the median and 99th percentile of the loop's lag in milliseconds."""
    session = PlayedSession(chat=PacedChat)
    session.chat.text, session.chat.rate = text, rate
    app = LagunaApp(session, TuiSettings(theme="laguna-dark"))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(0.3)
        if before:
            app.writer.apply(TextDelta(before))
            app.writer.settle()
            app.transcript.update_rows()
            await pilot.pause(0.3)
        app.prompt.replace_text("go")
        await pilot.press("enter")
        await asyncio.sleep(0.3)
        lags: list[float] = []
        started, cpu = time.perf_counter(), _cpu()
        while not session.chat.ended.is_set():
            at = time.perf_counter()
            await asyncio.sleep(PROBE_S)
            lags.append((time.perf_counter() - at - PROBE_S) * 1000)
        share = 100 * (_cpu() - cpu) / (time.perf_counter() - started)
    lags.sort()
    return share, lags[len(lags) // 2], lags[int(len(lags) * 0.99)]


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(seconds: float) -> None:
    """Print one row per kind and rate."""
    print(f"{'content':<34}{'tok/s':>6}{'CPU %':>8}{'lag p50':>10}{'lag p99':>10}")
    for rate in RATES:
        size = int(seconds * rate * TOKEN)
        runs = [(name, make(size)[:size], "") for name, make in KINDS.items()]
        runs.append(("paragraphs after 20,000 rows", KINDS["paragraphs"](size)[:size], "a line\n\n" * 10_000))
        for name, text, before in runs:
            share, middle, late = asyncio.run(measure(text, rate, before))
            print(f"{name:<34}{rate:>6}{share:>8.1f}{middle:>8.1f}ms{late:>8.1f}ms", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 8.0)
