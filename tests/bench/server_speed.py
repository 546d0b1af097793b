"""The server beside the engine alone: the same plain answers, streamed over HTTP and iterated in the process.

Run by hand: `python -m tests.bench.server_speed [MODEL]`; without a model, on a random one of 370 MB, which is about as
slow as a real one. The client is another process, as in use. The two take turns on one engine. Goal: a ratio of 0.97 or
more. The processor's seconds of this process, server and engine together, are given too: other work on the machine
changes them least.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from laguna_engine.config import PLAIN
from laguna_engine.engine import Engine, Request
from laguna_engine.events import Token
from tests.app.server.serving import Served, served
from tests.bench.engine_overhead import unending_prompt
from tests.bench.tui_engine import LARGER
from tests.engine import tiny

TURNS, NEW_TOKENS = 9, 256

CLIENT = """
import http.client, json, sys, time
port, token, tokens, count = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])
connection = http.client.HTTPConnection("127.0.0.1", port)
headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
for line in sys.stdin:
    body = {"prompt": tokens, "max_tokens": count, "stream": True, "temperature": 0}
    connection.request("POST", "/v1/completions", json.dumps(body), headers)
    response = connection.getresponse()
    first = last = 0.0
    for row in response:
        if row.startswith(b"data: {"):
            last = time.perf_counter()
            first = first or last
            if b"predicted_n" in row:
                seen = json.loads(row[6:])["timings"]["predicted_n"]
    print(seen, (seen - 1) / (last - first), flush=True)
"""


def alone(server: Served, prompt: list[int]) -> tuple[int, float]:
    """Tokens, and tokens a second, of the engine from the first token on."""
    request = Request(prompt, max_tokens=NEW_TOKENS, drafting=PLAIN)
    events = server.slot.healthy().engine.generate(request)
    times = [time.perf_counter() for event in events if isinstance(event, Token)]
    return len(times), (len(times) - 1) / (times[-1] - times[0])


def unending(engine: Engine) -> list[int]:
    """A prompt as the server begins them, after which the model continues for long enough, also once it is cached."""
    begins = [engine.vocab.bos] if engine.vocab.add_bos else []
    for other in range(40, 60):
        prompt = unending_prompt(engine, [*begins, other])
        again = engine.generate(Request(prompt, max_tokens=NEW_TOKENS, drafting=PLAIN))
        if sum(isinstance(event, Token) for event in again) == NEW_TOKENS:
            return prompt
    raise SystemExit("this model always ends its answers early; choose another")


@dataclass(frozen=True, slots=True)
class Pair:
    """One turn of the engine alone and of the server: tokens a second, and the processor's milliseconds a token."""

    own: float
    through: float
    own_cpu: float
    through_cpu: float


def measure(model: Path | str, **settings: object) -> list[Pair]:
    """Return all turns but the first, in which nothing is cached.

    What is cached may be rounded otherwise than what was just read, so that an answer may end early: its turn is left
    out.
    """
    with served(model, speculation="off", **settings) as server:
        prompt = unending(server.slot.healthy().engine)
        arguments = [str(server.port), server.token, json.dumps(prompt), str(NEW_TOKENS)]
        with subprocess.Popen(
            [sys.executable, "-c", CLIENT, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as client:
            assert client.stdin is not None
            assert client.stdout is not None
            pairs = []
            for _ in range(TURNS):
                began = time.process_time()
                count, own = alone(server, prompt)
                between = time.process_time()
                client.stdin.write("go\n")
                client.stdin.flush()
                seen, through = map(float, client.stdout.readline().split())
                own_cpu, cpu = between - began, time.process_time() - between
                if min(count, seen) > NEW_TOKENS / 2:
                    pairs.append(Pair(own, through, 1000 * own_cpu / count, 1000 * cpu / seen))
            client.stdin.close()
    return pairs[1:]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", help="a GGUF file")
    chosen = parser.parse_args().model
    with tempfile.TemporaryDirectory() as folder:
        model = Path(chosen) if chosen else tiny.laguna(LARGER).write(Path(folder) / "random.gguf")
        pairs = measure(model)
    print("| median | tok/s | processor's ms a token |\n|---|---|---|")
    print(f"| engine alone | {median(each.own for each in pairs):.1f} | {median(each.own_cpu for each in pairs):.2f} |")
    through, cpu = median(each.through for each in pairs), median(each.through_cpu for each in pairs)
    print(f"| through the server | {through:.1f} | {cpu:.2f} |")
    ratio, cpu_ratio = (
        median(each.through / each.own for each in pairs),
        median(each.own_cpu / each.through_cpu for each in pairs),
    )
    print(f"| ratio of each turn | {ratio:.3f} | {cpu_ratio:.3f} |")


if __name__ == "__main__":
    main()
