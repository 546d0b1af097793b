"""Rollouts killed with SIGKILL again and again and resumed: `python -m tests.evals.rollouts_killed [--rollouts N]`.

An endpoint on loopback answers at once and fails every 50th request. The run is killed after each tenth of them, and
the last one comes to its end. Says how many rollouts the file holds, whether each is there once, in order and as it was
before the kills, and how many answers were made again.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.scripted_endpoint import Response, endpoint, status, whole

TOP = Path(__file__).parents[2]
GROUP, FAILING, CONCURRENCY = 10, 50, 16


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rollouts", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=9)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        return killed(Path(name), arguments.rollouts // GROUP, arguments.kills)


def killed(folder: Path, prompts: int, kills: int) -> int:
    path, out = folder / "prompts.jsonl", folder / "rollouts.jsonl"
    path.write_text("".join(json.dumps({"name": str(at), "prompt": f"question {at}"}) + "\n" for at in range(prompts)))
    enough, answered, requests = threading.Event(), 0, 0
    wanted = prompts * GROUP

    def respond(body: dict) -> Response:
        nonlocal answered, requests
        with lock:
            requests += 1
            if requests % FAILING == 0:
                return status(503)
            answered += 1
            if answered >= limit:
                enough.set()
        return whole(f"{body['messages'][-1]['content']} by {body['seed']}", [1], [2, 3])

    environment = {**os.environ, "HOME": str(folder), "LAGUNA_TUI_MODELS": str(folder)}
    line = ["-m", "tests.evals", "rollouts", "--prompts", str(path), "--samples", str(GROUP), "--out", str(out)]
    line += ["--quiet", "--concurrency", str(CONCURRENCY)]
    lock, before, resumed = threading.Lock(), dict[tuple[str, int], dict](), 0
    begun = time.monotonic()
    with endpoint(otherwise=respond) as served:
        for kill in range(kills + 1):
            limit = (kill + 1) * wanted // (kills + 1) if kill < kills else sys.maxsize
            command = [sys.executable, *line, "--model", served.url]
            with subprocess.Popen(command, env=environment, cwd=TOP, stdout=subprocess.DEVNULL) as running:
                if kill == kills:
                    code = running.wait()
                    continue
                while not enough.wait(0.1) and running.poll() is None:
                    pass
                running.send_signal(signal.SIGKILL)
            enough.clear()
            lines = out.read_bytes().splitlines(keepends=True)[1:]
            kept = {key(each): each for each in (json.loads(each) for each in lines if each.endswith(b"\n"))}
            lost = sum(kept.get(each) != value for each, value in before.items())
            print(f"killed with {len(kept):,} rollouts in the file; {lost} of those before are gone", flush=True)
            resumed += lost
            before = kept
    found = [json.loads(each) for each in out.read_text().splitlines()[1:]]
    order = [(str(prompt), index) for prompt in range(prompts) for index in range(GROUP)]
    right = all(each["answer"] == f"question {each['prompt']} by {each['seed']}" for each in found)
    same = all(before[key(each)] == each for each in found if key(each) in before)
    whole_run = code == 0 and [key(each) for each in found] == order and right and same and not resumed
    print(
        f"{len(found):,} rollouts of {wanted:,} after {kills} kills, each once and in order: {whole_run};"
        f" {requests:,} requests, {requests - answered:,} failed, {answered - wanted:,} answered again because a kill"
        f" lost the answer; {time.monotonic() - begun:.0f} s"
    )
    return 0 if whole_run else 1


def key(rollout: dict) -> tuple[str, int]:
    return rollout["prompt"], rollout["index"]


if __name__ == "__main__":
    sys.exit(main())
