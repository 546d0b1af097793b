"""The contract of `Context`, on a real llama.cpp and a tiny Laguna."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_engine.config import GREEDY, KvType, Sampling
from laguna_engine.errors import ContextError, EngineClosed, RequestError
from laguna_engine.llama.context import Context, ContextOptions, DecodeStatus, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import SamplerChain
from laguna_engine.native.library import lib

OPTIONS = ContextOptions(n_ctx=256, n_batch=64, n_ubatch=16, threads=1)
PROMPT = list(range(40, 60))


@pytest.fixture
def context(tiny_model: Model) -> Iterator[Context]:
    context = Context(tiny_model, OPTIONS)
    yield context
    context.close()


@pytest.fixture
def greedy(tiny_model: Model) -> Iterator[SamplerChain]:
    chain = SamplerChain(GREEDY, tiny_model.vocab.size)
    yield chain
    chain.close()


def generate(context: Context, chain: SamplerChain, count: int) -> list[int]:
    tokens = []
    for _ in range(count):
        tokens.append(context.sample(chain))
        context.decode([tokens[-1]], context.positions()[1] + 1)
    return tokens


def test_decoding_appends_to_the_cache(context: Context) -> None:
    assert context.positions() == (-1, -1)
    assert context.decode(PROMPT, 0) is DecodeStatus.OK
    assert context.positions() == (0, len(PROMPT) - 1)


def test_greedy_picks_the_largest_logit(context: Context, greedy: SamplerChain) -> None:
    context.decode(PROMPT, 0)
    logits = context.logits()
    assert logits.shape == (512,)
    assert context.sample(greedy) == int(logits.argmax())


def test_all_outputs_give_a_row_for_each_token(context: Context) -> None:
    context.decode(PROMPT, 0, Outputs.ALL)
    rows = [context.logits(row) for row in range(len(PROMPT))]
    assert (context.logits(-1) == rows[-1]).all()
    context.clear()
    context.decode(PROMPT[:5], 0)
    assert abs(context.logits() - rows[4]).max() < 1e-2


def test_a_memory_that_cannot_go_back_is_an_error(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    context.decode(PROMPT, 0)
    monkeypatch.setattr(lib, "llama_memory_seq_rm", lambda memory, sequence, start, end: False)
    with pytest.raises(ContextError) as refused:
        context.remove(10)
    assert str(refused.value) == "this model's memory cannot go back to position 10; turn speculation off"
    assert context.positions() == (0, len(PROMPT) - 1)


def test_a_rewind_gives_the_same_continuation(context: Context, greedy: SamplerChain) -> None:
    context.decode(PROMPT, 0)
    first = generate(context, greedy, 8)
    context.remove(len(PROMPT) - 1)
    context.decode(PROMPT[-1:], len(PROMPT) - 1)
    assert generate(context, greedy, 8) == first


def test_no_outputs_means_nothing_to_sample(context: Context, greedy: SamplerChain) -> None:
    context.decode(PROMPT, 0, Outputs.NONE)
    with pytest.raises(RequestError) as error:
        context.sample(greedy)
    assert str(error.value) == "row -1 of the last batch has no logits; decode it with outputs first"


@pytest.mark.parametrize("row", [0, 5, 19 + 1, -2])
def test_a_row_without_logits_is_refused(context: Context, greedy: SamplerChain, row: int) -> None:
    context.decode(PROMPT, 0)
    with pytest.raises(RequestError, match="no logits"):
        context.sample(greedy, row)


@pytest.mark.parametrize(
    ("tokens", "complaint"),
    [([], "nothing to decode"), ([512], "outside"), ([-1, 5], "outside"), ([5] * 65, "pieces")],
)
def test_a_batch_that_would_abort_is_refused(context: Context, tokens: list[int], complaint: str) -> None:
    with pytest.raises(RequestError, match=complaint):
        context.decode(tokens, 0)
    assert context.decode(PROMPT, 0) is DecodeStatus.OK


@pytest.mark.parametrize("start", [1, 21, 19, 0, -1])
def test_a_gap_or_an_overlap_is_refused(context: Context, start: int) -> None:
    if start != 1:
        context.decode(PROMPT, 0)
    with pytest.raises(RequestError, match="does not continue"):
        context.decode([5], start)


def test_a_full_cache_says_so_and_stays_usable(context: Context) -> None:
    for start in range(0, 256, 64):
        context.decode([5] * 64, start, Outputs.NONE)
    assert context.decode([5], 256) is DecodeStatus.FULL
    context.remove(200)
    assert context.decode([5], 200) is DecodeStatus.OK


def test_a_stop_is_seen_and_decoding_can_go_on(context: Context) -> None:
    context.decode(PROMPT, 0)
    context.request_abort()
    assert context.decode([5] * 40, len(PROMPT)) is DecodeStatus.ABORTED
    context.clear_abort()
    assert context.positions() == (0, len(PROMPT) - 1)
    assert context.decode([5] * 40, len(PROMPT)) is DecodeStatus.OK


def test_quantized_caches_decode(tiny_model: Model) -> None:
    for kv_type in (KvType.Q8_0, KvType.Q4_0):
        context = Context(tiny_model, ContextOptions(n_ctx=256, n_batch=32, type_k=kv_type, type_v=kv_type, threads=1))
        assert context.decode(PROMPT, 0) is DecodeStatus.OK
        context.close()


def test_a_quantized_cache_without_flash_attention_is_refused(tiny_model: Model) -> None:
    with pytest.raises(ContextError, match="flash attention"):
        Context(tiny_model, ContextOptions(n_ctx=256, type_v=KvType.Q8_0, flash_attention=False))


@pytest.mark.parametrize("options", [{"n_ctx": -1}, {"n_ctx": 2**31}, {"n_ctx": 256, "n_batch": 0}])
def test_sizes_out_of_range_are_refused(tiny_model: Model, options: dict[str, int]) -> None:
    with pytest.raises(ContextError, match="out of range"):
        Context(tiny_model, ContextOptions(**options))


TOO_LARGE = """
import resource, sys
from pathlib import Path
from laguna_engine.errors import ContextError
from laguna_engine.llama.context import Context
from laguna_engine.llama.context import ContextOptions
from laguna_engine.llama.model import Model
model = Model.open(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    Context(model, ContextOptions(n_ctx=1 << 20, swa_full=True, threads=1))
except ContextError as error:
    print(type(error).__name__, error)
"""


def test_a_context_that_cannot_be_allocated_quotes_llama_cpp(tiny_model_path: Path) -> None:
    command = [sys.executable, "-c", TOO_LARGE, str(tiny_model_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert re.search(
        r"^ContextOutOfMemory a context of 1048576 tokens could not be created \(.*alloc.*\); try a smaller context",
        run.stdout,
    )
    assert run.stderr == ""


def test_one_seed_gives_one_text(context: Context, tiny_model: Model) -> None:
    texts = []
    for seed in (7, 7, 8):
        chain = SamplerChain(Sampling(1.5, top_k=50, seed=seed), tiny_model.vocab.size)
        context.clear()
        context.decode(PROMPT, 0)
        texts.append(generate(context, chain, 16))
        chain.close()
    assert texts[0] == texts[1] != texts[2]


def test_a_closed_context_says_so(tiny_model: Model, greedy: SamplerChain) -> None:
    context = Context(tiny_model, OPTIONS)
    context.close()
    context.close()
    for call in (lambda: context.decode([5], 0), context.clear, context.positions, lambda: context.sample(greedy)):
        with pytest.raises(EngineClosed, match="open the model again"):
            call()
