"""The TUI's cost to the engine: the same answer through `Engine` alone and while a TUI draws it.

Run by hand: `python -m tests.bench.tui_engine [MODEL] [--threads N]`; without a model, on a random one of 370 MB, which
one core decodes about as fast as a GPU decodes a model with 3 B active parameters. Its words are random: one endless
paragraph, the most expensive thing to draw. The two take turns in one process on one engine, so that a
busy machine slows both. Goal: ratios of 0.97 or more.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Event, Finished, Prefill, Stats, Token
from laguna_tui.base.events import AgentEvent, StepFinished, TextDelta, TurnEnd, TurnFinished
from laguna_tui.compose import SWITCH_INTERVAL_S
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.session_controller import SessionState
from laguna_tui.tui.tui_settings import TuiSettings
from tests.engine import tiny
from tests.tui.scripted import PlayedChat, PlayedSession

LARGER = tiny.Shape(n_embd=1024, n_layer=12, n_ff=2048, expert_ff=1024, n_ctx=2048)
PROMPT_TOKENS, NEW_TOKENS, N_CTX = 512, 512, 2048
TURNS = 7
SIZE = (120, 40)
POLL_S = 0.05


class EngineChat(PlayedChat):
    """Answers are the engine's own words: no agent, no tools, only the drawing to measure."""

    engine: Engine
    prompt: list[int]
    stats: Stats | None = None

    def ask(self, message: str) -> Iterator[AgentEvent]:
        for event in self.generate():
            match event:
                case Token(text=text):
                    yield TextDelta(text)
                case Prefill():
                    yield event
                case Finished(_, stats):
                    self.stats = stats
                    yield StepFinished(stats, stats.prompt_tokens + stats.generated_tokens, self.engine.n_ctx)
        yield TurnFinished(TurnEnd.ANSWERED)

    def generate(self) -> Iterator[Event]:
        self.engine.clear()
        return self.engine.generate(Request(self.prompt, max_tokens=NEW_TOKENS))

    def cancel(self) -> None:
        self.engine.cancel()


async def measure(engine: Engine, prompt: list[int]) -> list[tuple[Stats, Stats]]:
    """Return pairs of what the engine measured: alone, then drawn."""
    pairs = []
    session = PlayedSession(chat=EngineChat, context_size=engine.n_ctx)
    chat = session.chat
    chat.engine, chat.prompt = engine, prompt
    app = LagunaApp(session, TuiSettings(theme="laguna-dark"))
    async with app.run_test(size=SIZE) as pilot:
        while app.state is not SessionState.READY:
            await pilot.pause(POLL_S)
        for _ in range(TURNS):
            *_, last = await asyncio.to_thread(lambda: list(chat.generate()))
            app.send("go on")
            while app.state is not SessionState.READY:
                await asyncio.sleep(POLL_S)
            pairs.append((last.stats, chat.stats))
            await pilot.press("ctrl+n")
            await pilot.pause(POLL_S)
    return pairs


def main() -> None:
    """Measure and print one Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with tempfile.TemporaryDirectory() as folder:
        path = options.model or tiny.laguna(LARGER).write(Path(folder) / "random.gguf")
        with Engine.open(EngineOptions(path, n_ctx=N_CTX, threads=options.threads)) as engine:
            prompt = [100 + index % 50 for index in range(PROMPT_TOKENS)]
            pairs = asyncio.run(measure(engine, prompt))
    print("| work | alone, tok/s | drawn, tok/s | ratio | goal |\n|---|---|---|---|---|")
    for name, rate in (("prefill", lambda s: s.prefill_rate), ("decode", lambda s: s.decode_rate)):
        alone, drawn = (median(rate(pair[side]) for pair in pairs) for side in (0, 1))
        ratio = median(rate(drawn) / rate(alone) for alone, drawn in pairs)
        print(f"| {name} | {alone:,.0f} | {drawn:,.0f} | {ratio:.3f} | 0.97 |")


if __name__ == "__main__":
    main()
