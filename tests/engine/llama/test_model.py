"""Opening a model: attributes, progress, overrides."""

from pathlib import Path

import pytest

from laguna_engine.errors import EngineClosed, ModelFileError
from laguna_engine.llama.context import Context, ContextOptions
from laguna_engine.llama.model import Model
from tests.engine import tiny


def test_the_facts_are_those_of_the_file(tiny_model: Model, tiny_model_path: Path) -> None:
    shape = tiny.Shape()
    facts = (tiny_model.n_embd, tiny_model.n_layer, tiny_model.n_ctx_train, tiny_model.n_swa, tiny_model.vocab.size)
    assert facts == (shape.n_embd, shape.n_layer, shape.n_ctx, shape.window, shape.n_vocab)
    assert tiny_model.size_bytes == sum(tensor.size for tensor in tiny_model.header.tensors)
    assert tiny_model.n_params == sum(array.size for array in tiny.laguna().tensors.values())
    assert tiny_model.description.startswith("laguna")
    assert tiny_model.header.path == tiny_model_path


def test_progress_goes_from_nothing_to_all(tiny_model_path: Path) -> None:
    seen: list[float] = []
    Model.open(tiny_model_path, progress=lambda fraction: not seen.append(fraction)).close()
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_progress_can_cancel(tiny_model_path: Path) -> None:
    with pytest.raises(ModelFileError) as error:
        Model.open(tiny_model_path, progress=lambda fraction: False)
    assert str(error.value) == f"{tiny_model_path}: loading was cancelled; open it again when wanted"


def test_an_error_in_progress_comes_out_unchanged(tiny_model_path: Path) -> None:
    def fail(fraction: float) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Model.open(tiny_model_path, progress=fail)


def test_overrides_replace_metadata_of_every_type(tiny_model_path: Path) -> None:
    overrides = {
        "laguna.context_length": 1024,
        "laguna.rope.scaling.factor": 2.0,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.pre": "gpt-2",
    }
    model = Model.open(tiny_model_path, overrides=overrides)
    assert (model.n_ctx_train, model.vocab.add_bos) == (1024, False)
    model.close()


def test_an_override_that_does_not_fit_is_refused(tiny_model_path: Path) -> None:
    with pytest.raises(ModelFileError) as error:
        Model.open(tiny_model_path, overrides={"k" * 128: 1})
    assert str(error.value) == (
        "the override 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk'… is longer than 127 bytes; shorten it"
    )


@pytest.mark.parametrize("options", [{"use_mmap": False}, {"extra_bufts": False}, {"check_tensors": True}])
def test_ways_of_loading_give_the_same_answer(
    tiny_model: Model, tiny_model_path: Path, options: dict[str, bool]
) -> None:
    answers = []
    for model in (tiny_model, Model.open(tiny_model_path, **options)):
        context = Context(model, ContextOptions(n_ctx=256, threads=1))
        context.decode([5, 6, 7], 0)
        answers.append(context.logits())
        context.close()
        if model is not tiny_model:
            model.close()
    assert abs(answers[0] - answers[1]).max() < 1e-2


def test_a_path_with_unusual_characters_opens(tiny_model_path: Path, tmp_path: Path) -> None:
    link = tmp_path / "modèle [1] 'x'.gguf"
    link.symlink_to(tiny_model_path)
    model = Model.open(link)
    assert model.vocab.size == tiny.Shape().n_vocab
    model.close()


def test_closing_a_model_closes_its_contexts_first(tiny_model_path: Path) -> None:
    model = Model.open(tiny_model_path)
    context = Context(model, ContextOptions(n_ctx=256, threads=1))
    model.close()
    with pytest.raises(EngineClosed):
        context.decode([5], 0)
    context.close()


def test_experts_can_be_kept_in_ram_and_the_answer_is_the_same(tiny_model_path: Path, tiny_model: Model) -> None:
    kept = Model.open(tiny_model_path, tensors_in_ram=r"blk\.\d+\.ffn_(up|gate|down)_exps", split=(1.0,))
    logits = []
    for model in (kept, tiny_model):
        context = Context(model, ContextOptions(n_ctx=256, threads=1))
        context.decode([50, 60, 70], 0)
        logits.append(context.logits())
        context.close()
    kept.close()
    assert (logits[0] == logits[1]).all()


def test_a_pattern_that_is_no_regular_expression_is_refused_with_a_reason(tiny_model_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot load it"):
        Model.open(tiny_model_path, tensors_in_ram="(")


def test_a_share_below_nothing_is_refused(tiny_model_path: Path) -> None:
    with pytest.raises(ModelFileError) as error:
        Model.open(tiny_model_path, split=(-1.0,))
    assert str(error.value) == "the split [-1.0] does not suit 16 GPUs; give each a share of 0 or more"
