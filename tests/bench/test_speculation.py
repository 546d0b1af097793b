"""`python -m tests.bench.speculation`, on a tiny pair of random weights."""

import pytest

from tests.bench.speculation import main

SHORT = ["--threads", "1", "--context", "8192", "--tokens", "12", "--repeats", "1", "--quiet"]


def bench(kind, pair, *options):
    target, drafter = pair
    return main([kind, "--model", str(target), "--drafter", str(drafter), *SHORT, *options])


@pytest.mark.parametrize(
    ("kind", "first_cells"),
    [
        ("sweep", ["plain", *map(str, range(8))]),
        ("kv", [f"{kind} {way}" for kind in ("f16", "q8_0", "q4_0") for way in ("plain", "both")]),
        ("profile", ["all"]),
        ("model", [str(length) for length in range(1, 8)]),
    ],
)
def test_every_kind_prints_one_well_formed_table(kind, first_cells, pair, messages, capsys):
    assert bench(kind, pair, "--prompts", str(messages)) == 0
    told = capsys.readouterr()
    assert told.err == ""
    lines = [line for line in told.out.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    assert [line.split("|")[1].strip() for line in lines][2:][: len(first_cells)] == first_cells


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--drafter", "none", "--use", "dflash"), "give one with --drafter FILE.gguf"),
        (("--use", "somebody"), "it must be one of dflash, copy, both"),
    ],
)
def test_a_drafter_that_cannot_be_used_is_refused(options, part, pair, capsys):
    assert bench("sweep", pair, *options) == 2
    assert part in capsys.readouterr().err
