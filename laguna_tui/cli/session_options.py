"""The options of a session, the same before a command's name and after `ask`."""

import argparse
from collections.abc import Callable
from pathlib import Path


def add_session_options(parser: argparse.ArgumentParser, *, nested: bool = False) -> None:
    """Add the options to a parser. nested: of a sub-command, where a missing option keeps the one before its name."""
    # A sub-command's default would overwrite an option before the command's name.
    default = argparse.SUPPRESS if nested else None
    group = parser.add_argument_group("session")

    def add(flag: str, kind: Callable[[str], object], meta: str, text: str) -> None:
        group.add_argument(flag, type=kind, metavar=meta, help=text, default=default)

    add("--folder", Path, "DIR", "folder of the code (default: the current one)")
    add("--model", str, "NAME|FILE", "a model of the catalogue, or a GGUF file (default: nano)")
    add("--context", int, "N", "context size in tokens (default: what fits)")
    add("--kv", str, "TYPE", "type of the KV cache: f16, q8_0 or q4_0 (default: what fits)")
    add("--gpu-layers", int, "N", "layers on the GPU, -1 for all (default: what fits)")
    add("--threads", int, "N", "CPU threads, 0 for one per core (default: as planned)")
    add("--temperature", float, "T", "sampling temperature, 0 is greedy")
    add("--top-k", int, "K", "keep the K likeliest tokens, 0 for all")
    add("--top-p", float, "P", "keep the likeliest tokens up to this total probability")
    add("--min-p", float, "P", "drop tokens below this share of the likeliest one's probability")
    add("--repeat-penalty", float, "R", "above 1 makes repetition less likely")
    add("--seed", int, "N", "the same seed gives the same sampled answer")
    add("--max-tokens", int, "N", "most tokens of a generation")
    add("--speculation", str, "MODE", "fast (default), strict (on the CPU: byte for byte the plain answer) or off")
    add(
        "--drafter",
        str,
        "NAME|FILE",
        "a drafter of the catalogue, a GGUF, or none (default: the recommended one on this machine)",
    )
    add("--draft-length", int, "N", "tokens to draft every round (default: chosen by measured speed)")
    add("--adapter", str, "FILE", "a LoRA for the drafter, such as one trained on this repository")
    add(
        "--scorer",
        str,
        "NAME|FILE",
        "scorer for texts that are too long: a qwen3 GGUF, or none (default: the one on this machine)",
    )
    add("--pack", int, "N", "tokens of map and fitting code to begin with (default: as the context allows; 0: none)")
    add("--edits", str, "MODE", "ask (default) about each edit of a file, allow all, or never edit")
    add("--theme", str, "NAME", "auto, laguna-dark, laguna-light or any Textual theme")
    group.add_argument(
        "--sample-drafts",
        action=argparse.BooleanOptionalAction,
        help="sample drafts like answers, which pays at high temperatures",
        default=default,
    )
    group.add_argument(
        "--offline",
        action=argparse.BooleanOptionalAction,
        help="open no socket, and offer no download",
        default=default,
    )
    group.add_argument(
        "--thinking",
        action=argparse.BooleanOptionalAction,
        help="let the model think before it answers",
        default=default,
    )


SETTINGS = (
    "model context kv gpu_layers threads temperature top_k top_p min_p repeat_penalty seed max_tokens speculation"
    " drafter draft_length sample_drafts adapter scorer pack edits offline theme thinking"
).split()


def chosen_settings(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the options by setting; None for those not given."""
    return {name: getattr(arguments, name) for name in SETTINGS}
