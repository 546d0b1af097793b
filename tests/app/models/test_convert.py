"""A published drafter, converted, is the same drafter: bit for bit, token for token."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.config import Drafting, EngineOptions
from laguna_engine.draft import dflash_weights
from laguna_engine.draft.dflash import DFlash
from laguna_engine.engine import Engine, Request
from laguna_engine.events import Round, Token
from laguna_engine.ggml import gguf_writer as quantizing
from laguna_engine.ggml.weights import HostEmbedding
from laguna_engine.gguf import drafter_header, header
from laguna_engine.gguf import quantization as quantize_plan
from laguna_engine.llama.model import Model
from laguna_tui.models.convert import Provenance, convert, plan
from tests.app.models import published
from tests.app.models.published import Published
from tests.engine import drafters, drafting, tiny
from tests.engine.runs import assert_same_answer

LAYOUTS = {"xs-2.1": published.laguna, "xs.2": published.speculator}
layouts = pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS.keys())

LAST = 77
ROUNDED = 1e-4
"""Largest normalised squared error where ggml rounds what bfloat16 weights are multiplied with to bfloat16, too."""


def quiet(phase: str, done: int, total: int) -> None:
    pass


def converted(folder: Path, kind: str = "bf16", name: str = "out.gguf", **provenance: str) -> Path:
    target = folder.parent / name
    convert(plan(folder, kind), target, Provenance(**provenance), quiet)
    return target


class Folder:
    """Gives `drafting.drafter` a converted file where it expects one that is only written."""

    def __init__(self, source: Published, folder: Path) -> None:
        self._folder = source.write(folder)

    def write(self, path: Path) -> Path:
        convert(plan(self._folder), path, Provenance(), quiet)
        return path


@layouts
def test_it_drafts_what_the_published_weights_draft(make: Callable[[], Published], tmp_path: Path):
    source = make()
    target = tiny.laguna()
    shared = None if source.variant.own_head else target.write(tmp_path / "target.gguf")
    weights = {**drafters.weights_of(target), **source.weights}
    file = Folder(source, tmp_path / "folder")
    with drafting.drafter(source.variant, tmp_path / "drafter.gguf", 160, file=file, target=shared) as fed:
        for start, stop in ((0, 100), (100, 101), (101, 160)):
            fed.feed(start, stop)
            right = drafters.reference(
                source.variant, weights, fed.features[:stop].astype(float), LAST, source.variant.block
            )
            assert drafting.nmse(fed.logits(LAST, stop, source.variant.longest), right.logits) < ROUNDED
            assert fed.tokens(LAST, stop, source.variant.longest) == right.tokens


@layouts
def test_every_weight_is_bit_for_bit_what_was_published(make: Callable[[], Published], tmp_path: Path):
    source = make()
    found = drafter_header.read(converted(source.write(tmp_path / "folder")))
    for name, weights in source.weights.items():
        if name == "d2t":
            table = dflash_weights.read_token_map(found, 512)
            assert table is not None
            assert table.tolist() == weights.tolist()
        elif name == "enc.aux_norm.weight":
            rows = [vector(found, f"enc.aux_norm.{tap}.weight") for tap in range(len(weights))]
            assert np.array_equal(rows, weights)
        elif "norm" in name:
            assert np.array_equal(vector(found, name), weights)
        else:
            table = HostEmbedding(found.file, name)
            assert found.tensors[name].format == "bf16"
            assert np.array_equal(table.rows(range(table.count)), weights)


def vector(found: drafter_header.DrafterHeader, name: str) -> np.ndarray:
    info = found.tensors[name]
    assert info.format == "f32"
    return np.fromfile(found.path, np.float32, info.shape[0], offset=info.offset)


def test_an_xs_2_1_drafter_says_what_its_config_says(tmp_path: Path):
    found = drafter_header.read(converted(published.laguna().write(tmp_path / "folder")))
    assert (found.taps, found.block, found.mask_id, found.n_vocab) == ((0, 1, 3), 16, tiny.MASK, 512)
    assert (found.window, found.sliding, found.causal) == (48, (True,) * 3, (True,) * 3)
    assert (found.rope_base, found.rope_dims, found.context_norm) == (500000.0, 32, True)
    assert found.own_head is None


def test_an_xs_2_speculator_says_what_its_config_says(tmp_path: Path):
    found = drafter_header.read(converted(published.speculator().write(tmp_path / "folder")))
    # Published as 1, 2, 4: they count the embeddings.
    assert (found.taps, found.block, found.mask_id, found.n_vocab) == ((0, 1, 3), 8, tiny.MASK, 512)
    assert (found.window, found.sliding, found.causal) == (0, (False,) * 2, (False,) * 2)
    assert (found.rope_base, found.context_norm, found.own_head) == (10000.0, False, "output.weight")


@layouts
def test_it_fits_its_target(make: Callable[[], Published], tmp_path: Path):
    target = tiny.laguna().write(tmp_path / "target.gguf")
    path = tmp_path / "out.gguf"
    convert(plan(make().write(tmp_path / "folder")), path, Provenance(), quiet, target)
    found, facts = drafter_header.read(path), drafter_header.TargetFacts.of(header.check(target))
    drafter_header.check_pair(found, facts)
    assert (found.n_embd, found.n_vocab) == (facts.n_embd, facts.n_vocab)


def test_sliding_layers_see_later_rows_unless_the_config_says_otherwise(tmp_path: Path):
    variant = drafters.Variant(n_layer=2, reduced=300, window=40, sliding=(True, False))
    for said, causal in ((True, (False, False)), (False, (True, False)), (None, (False, False))):
        source = published.speculator(variant, sliding_window_non_causal=said)
        source.config["transformer_layer_config"] |= {
            "layer_types": ["sliding_attention", "full_attention"],
            "sliding_window": 40,
        }
        found = drafter_header.read(converted(source.write(tmp_path / f"{said}"), name=f"{said}.gguf"))
        assert (found.sliding, found.window, found.causal) == ((True, False), 40, causal)


def test_causal_is_read_and_not_assumed(tmp_path: Path):
    source = published.laguna()
    source.config["dflash_config"]["causal"] = False
    assert drafter_header.read(converted(source.write(tmp_path / "folder"))).causal == (False,) * 3


@layouts
def test_shards_give_the_same_weights(make: Callable[[], Published], tmp_path: Path):
    whole = converted(make().write(tmp_path / "whole"), name="whole.gguf")
    parts = converted(make().write(tmp_path / "parts", shards=3), name="parts.gguf")
    assert data_of(whole) == data_of(parts)


def data_of(path: Path) -> Mapping[str, bytes]:
    content = path.read_bytes()
    tensors = header.read_unchecked(path).tensors
    return {info.name: content[info.offset : info.offset + info.size] for info in tensors}


@layouts
@pytest.mark.parametrize("kind", ["q8_0", "q4_0"])
def test_quantized_it_is_what_the_quantizer_makes_of_it(make: Callable[[], Published], kind: str, tmp_path: Path):
    folder = make().write(tmp_path / "folder")
    at_once, in_two = converted(folder, kind, "at_once.gguf"), tmp_path / "in_two.gguf"
    quantizing.write_quantized(quantize_plan.plan(converted(folder), kind), in_two, {}, lambda done, total: None)
    assert data_of(at_once) == data_of(in_two)
    ours, theirs = (header.read_unchecked(path).metadata for path in (at_once, in_two))
    assert ours == theirs


def test_the_same_folder_gives_the_same_bytes_wherever_it_lies(tmp_path: Path):
    first = converted(published.laguna().write(tmp_path / "here"), name="first.gguf")
    second = converted(published.laguna().write(tmp_path / "there"), name="second.gguf")
    assert first.read_bytes() == second.read_bytes()


def test_the_result_says_where_it_comes_from(tmp_path: Path):
    folder = published.laguna().write(tmp_path / "folder")
    path = converted(folder, repository="poolside/Laguna-XS-2.1-DFlash", revision="a" * 40, licence="openmdw-1.1")
    metadata = header.read_unchecked(path).metadata
    assert metadata["laguna_tui.converted.from"] == "poolside/Laguna-XS-2.1-DFlash"
    assert metadata["laguna_tui.converted.revision"] == "a" * 40
    assert str(metadata["laguna_tui.converted.by"]).startswith("laguna-tui ")
    assert metadata["general.license"] == "openmdw-1.1"
    digests = [
        hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("config.json", "model.safetensors")
    ]
    assert metadata["laguna_tui.converted.sha256"] == f"{digests[0]}  config.json\n{digests[1]}  model.safetensors"


def test_a_hash_that_is_known_is_not_computed_again(tmp_path: Path):
    folder, phases = published.laguna().write(tmp_path / "folder"), []
    known = {"model.safetensors": "b" * 64, "config.json": "c" * 64}
    path = tmp_path / "out.gguf"
    convert(plan(folder), path, Provenance(sha256=known), lambda phase, done, total: phases.append(phase))
    assert set(phases) == {"convert"}
    assert f"{'b' * 64}  model.safetensors" in str(header.read_unchecked(path).metadata["laguna_tui.converted.sha256"])


def test_the_provenance_is_read_from_the_hubs_cache_and_the_card(tmp_path: Path):
    source = published.laguna()
    source.files["README.md"] = b"---\nlicense: other\nlicense_name: openmdw-1.1\n---\n# Drafter\nlicense: no\n"
    folder = source.write(tmp_path / "models--poolside--Laguna-XS-2.1-DFlash" / "snapshots" / ("d" * 40))
    assert Provenance.from_folder(folder) == Provenance("poolside/Laguna-XS-2.1-DFlash", "d" * 40, "openmdw-1.1")
    assert Provenance.from_folder(published.laguna().write(tmp_path / "elsewhere")) == Provenance()


@layouts
def test_an_engine_drafts_with_it_and_answers_the_same(make: Callable[[], Published], tmp_path: Path):
    target = tiny.laguna().write(tmp_path / "target.gguf")
    path = converted(make().write(tmp_path / "folder"), "q8_0")
    request = Request(range(30, 90), max_tokens=24, drafting=Drafting(sources=frozenset({DFlash.source}), length=3))
    answers: list[list[int]] = []
    drafted: list[int] = []
    for drafts_with in (None, path):
        options = EngineOptions(target, 512, threads=1, drafter=drafts_with)
        with Engine.open(options) as engine:
            events = list(engine.generate(request))
        answers.append([event.id for event in events if isinstance(event, Token)])
        drafted.append(sum(event.drafted for event in events if isinstance(event, Round)))
    model = Model.open(target)
    assert_same_answer(model, list(request.tokens), answers[1], answers[0])
    model.close()
    assert drafted[0] == 0 < drafted[1]
