"""Run as a program: opens the bundled nano model with every layer on the GPU and generates a few tokens.

Prints one line of JSON: llama.cpp's build and devices, tokens and seconds; or {"error": …}.
"""

import json
import sys
import time
from pathlib import Path

TOKENS = 16
_CONTEXT = 512
_PROMPT = "def main("


def main() -> int:
    """Run the trial; the only argument is the model's path. Returns the exit code."""
    from laguna_engine.errors import EngineError

    try:
        facts = _generate(Path(sys.argv[1]))
    except EngineError as error:
        facts = {"error": str(error)}
    sys.stdout.write(json.dumps(facts) + "\n")
    return 0


def _generate(model: Path) -> dict[str, object]:
    from laguna_engine.config import Speculation
    from laguna_engine.engine import Engine, EngineOptions, Request
    from laguna_engine.events import Token
    from laguna_tui.machine.doctor.load_probe import llama_facts

    options = EngineOptions(model, n_ctx=_CONTEXT, gpu_layers=-1, speculation=Speculation.OFF)
    with Engine.open(options) as engine:
        prompt = engine.vocab.tokenize(_PROMPT, special=False)
        begun = time.perf_counter()
        events = list(engine.generate(Request(prompt, max_tokens=TOKENS)))
        seconds = time.perf_counter() - begun
    return {**llama_facts(), "tokens": sum(isinstance(event, Token) for event in events), "seconds": seconds}


if __name__ == "__main__":
    sys.exit(main())
