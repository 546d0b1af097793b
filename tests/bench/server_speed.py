"""The server beside the engine alone: the same plain answers, streamed over HTTP and iterated in the process.

Run by hand: `python -m tests.bench.server_speed [MODEL]`; without a model, on a random one of 370 MB, which is about as
slow as a real one. The client is another process, as in use. The two take turns on one engine. Goal: a ratio of 0.97 or
more.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from laguna_engine.config import PLAIN
from laguna_engine.engine import Request
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
    print((seen - 1) / (last - first), flush=True)
"""


def alone(server: Served, prompt: list[int]) -> float:
    """Tokens a second of the engine, from the first token on."""
    request = Request(prompt, max_tokens=NEW_TOKENS, drafting=PLAIN)
    events = server.slot.healthy().generate(request)
    times = [time.perf_counter() for event in events if isinstance(event, Token)]
    return (len(times) - 1) / (times[-1] - times[0])


def measure(model: Path | str, **settings: object) -> tuple[float, float, float]:
    """Medians of the engine alone and of the server, and of the ratios of each turn."""
    with served(model, speculation="off", **settings) as server:
        prompt = unending_prompt(server.slot.healthy())
        arguments = [str(server.port), server.token, json.dumps(prompt), str(NEW_TOKENS)]
        with subprocess.Popen(
            [sys.executable, "-c", CLIENT, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as client:
            assert client.stdin is not None
            assert client.stdout is not None
            pairs = []
            for _ in range(TURNS):
                own = alone(server, prompt)
                client.stdin.write("go\n")
                client.stdin.flush()
                pairs.append((own, float(client.stdout.readline())))
            client.stdin.close()
    # The first of each is slower: nothing is cached.
    own, through = zip(*pairs[1:], strict=True)
    return median(own), median(through), median(b / a for a, b in pairs[1:])


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", help="a GGUF file")
    chosen = parser.parse_args().model
    with tempfile.TemporaryDirectory() as folder:
        model = Path(chosen) if chosen else tiny.laguna(LARGER).write(Path(folder) / "random.gguf")
        own, through, ratio = measure(model)
    print("| | tok/s |\n|---|---|")
    print(f"| engine alone | {own:.1f} |\n| through the server | {through:.1f} |\n| ratio | {ratio:.3f} |")


if __name__ == "__main__":
    main()
