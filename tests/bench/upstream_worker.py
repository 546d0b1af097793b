"""llama.cpp's own C++ speculative loop, driven through xllamacpp: run by `spec_upstream` with another Python.

Reads one JSON object a line from stdin and answers each with one: first the files and settings, then turns. Imports
nothing of this project, because its Python has only xllamacpp.
"""

import json
import os
import sys

import xllamacpp as upstream


def server(files: dict, length: int | None) -> "upstream.Server":
    """Return a server in this process, never asked over its port; `length` None decodes plainly."""
    params = upstream.CommonParams()
    params.model.path = files["target"]
    params.n_parallel, params.n_ctx, params.n_batch, params.n_ubatch = 1, files["n_ctx"], 512, 512
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = files["threads"]
    params.fit_params = False
    params.cache_prompt = False
    if length is not None:
        params.speculative.types = [upstream.common_speculative_type.COMMON_SPECULATIVE_TYPE_DRAFT_DFLASH]
        draft = params.speculative.draft
        draft.mparams.path = files["drafter"]
        draft.n_max, draft.n_min, draft.p_min, draft.n_gpu_layers = length, 0, 0.0, 0
        draft.cpuparams.n_threads = draft.cpuparams_batch.n_threads = files["threads"]
    return upstream.Server(params)


def turn(on: "upstream.Server", prompt: list[int], tokens: int) -> dict:
    """Return one greedy answer's timings, as the server itself measured them, and its text."""
    request = {
        "prompt": prompt,
        "n_predict": tokens,
        "temperature": 0.0,
        "samplers": ["temperature"],
        "ignore_eos": True,
    }
    request["cache_prompt"] = False
    answer = on.handle_completions(request)
    return {**answer["timings"], "text": answer["choices"][0]["text"]}


def main() -> None:
    # Native code writes its log to stdout; the answers need a way of their own.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    files = json.loads(sys.stdin.readline())
    servers = {}
    for line in sys.stdin:
        ask = json.loads(line)
        length = ask["length"]
        if length not in servers:
            servers[length] = server(files, length)
        out.write(json.dumps(turn(servers[length], ask["prompt"], ask["tokens"])) + "\n")


if __name__ == "__main__":
    main()
