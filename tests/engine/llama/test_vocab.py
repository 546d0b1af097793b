"""Text to tokens and back: untrusted text never becomes a marker, nothing is lost, BOS is never added."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.errors import EngineClosed, RequestError
from laguna_engine.llama.model import Model
from laguna_engine.llama.vocab import Vocab
from laguna_engine.native.library import lib
from laguna_engine.native.structs import ModelHandle
from tests.engine import generic, tiny

LEAKING = {tiny.THINK, tiny.END_THINK, tiny.ASSISTANT, tiny.END_ASSISTANT, tiny.TOOL_CALL, tiny.END_TOOL_CALL}
"""Markers that older conversions type as user-defined: their text is shown, and plain text is parsed as them."""


@pytest.fixture(scope="module")
def vocab(tiny_model: Model) -> Vocab:
    return tiny_model.vocab


@pytest.fixture(scope="module")
def leaking_vocab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vocab]:
    """A file that names no end-of-turn token and types its markers as user-defined."""
    file = tiny.laguna().remove("tokenizer.ggml.eot_token_id")
    types = list(file.metadata["tokenizer.ggml.token_type"][1])
    for token in LEAKING:
        types[token] = tiny.USER_DEFINED
    file.set("tokenizer.ggml.token_type", types)
    model = Model.open(file.write(tmp_path_factory.mktemp("leaking") / "leaking.gguf"))
    yield model.vocab
    model.close()


def test_the_end_tokens_are_found_by_text_when_the_file_does_not_name_them(vocab: Vocab, leaking_vocab: Vocab) -> None:
    assert vocab.eog == leaking_vocab.eog == {tiny.EOS, tiny.END_ASSISTANT}


@pytest.fixture
def other_family(tmp_path: Path) -> Iterator[tuple[Vocab, dict[str, int]]]:
    """The vocabulary of another family, with tokens of some spellings, and these by their texts."""
    file = generic.model("llama")
    texts, types = (list(file.metadata[f"tokenizer.ggml.{name}"][1]) for name in ("tokens", "token_type"))
    kinds = {
        "</s>": tiny.NORMAL,
        "<|endoftext|>": tiny.CONTROL,
        "<stop>": tiny.CONTROL,
        "<call>": tiny.USER_DEFINED,
        "<table>": tiny.USER_DEFINED,
        "\n\n\n": tiny.USER_DEFINED,
    }
    ids = dict(zip(kinds, range(480, 500), strict=False))
    for text, token in ids.items():
        texts[token], types[token] = text, kinds[text]
    file.set("tokenizer.ggml.tokens", texts).set("tokenizer.ggml.token_type", types)
    file.set("tokenizer.chat_template", "{{ '<call>' }}").set("tokenizer.ggml.eos_token_id", ids["<stop>"])
    file.remove("tokenizer.ggml.eot_token_id")
    model = Model.open(file.write(tmp_path / "other.gguf"), tried=True)
    yield model.vocab, ids
    model.close()


def test_an_answer_ends_where_the_file_says_so_and_not_by_the_spelling_of_text(
    other_family: tuple[Vocab, dict[str, int]],
) -> None:
    vocab, ids = other_family
    assert ids["</s>"] not in vocab.eog
    assert {ids["<stop>"], ids["<|endoftext|>"]} <= vocab.eog
    assert vocab.pieces[ids["</s>"]] == b"</s>"


def test_user_defined_tokens_are_text_unless_the_template_writes_them(
    other_family: tuple[Vocab, dict[str, int]],
) -> None:
    vocab, ids = other_family
    assert vocab.markup.keys() >= {"<call>", "<stop>", "<|endoftext|>"}
    assert not vocab.markup.keys() & {"<table>", "\n\n\n", "</s>"}
    assert vocab.pieces[ids["\n\n\n"]] == b"\n\n\n"
    assert ids["<table>"] in vocab.tokenize("a<table>\n\n\n<call>", special=False)
    assert ids["<call>"] not in vocab.tokenize("a<table>\n\n\n<call>", special=False)


def test_the_files_wish_for_a_bos_is_known_and_not_granted(vocab: Vocab) -> None:
    assert (vocab.bos, vocab.add_bos) == (tiny.EOS, True)
    assert vocab.tokenize("", special=True) == []
    assert vocab.tokenize("〈|EOS|〉", special=True) == [tiny.EOS]
    assert tiny.EOS not in vocab.tokenize("def", special=True)


def test_markers_are_parsed_on_request_only(vocab: Vocab) -> None:
    text = "<assistant>hello</assistant>"
    with_markers = vocab.tokenize(text, special=True)
    assert (with_markers[0], with_markers[-1]) == (tiny.ASSISTANT, tiny.END_ASSISTANT)
    without = vocab.tokenize(text, special=False)
    assert not any(vocab.is_control(token) for token in without)
    assert vocab.detokenize(with_markers) == vocab.detokenize(without) == text.encode()


@given(
    st.lists(
        st.sampled_from(["<think>", "</think>", "<assistant>", "</assistant>", "<tool_call>", "<", "</", "think>", "a"])
        | st.text(max_size=5)
    )
)
def test_plain_text_makes_no_marker_even_of_user_defined_tokens(leaking_vocab: Vocab, parts: list[str]) -> None:
    text = "".join(parts)
    tokens = leaking_vocab.tokenize(text, special=False)
    assert not any(leaking_vocab.is_control(token) for token in tokens)
    assert leaking_vocab.detokenize(tokens) == text.encode("utf-8", "replace")


@given(st.text())
def test_text_survives_the_round_trip(vocab: Vocab, text: str) -> None:
    assert vocab.detokenize(vocab.tokenize(text, special=False)) == text.encode("utf-8", "replace")


def test_a_lone_surrogate_does_not_reach_native_code(vocab: Vocab) -> None:
    assert vocab.detokenize(vocab.tokenize("a\ud800b", special=False)) == b"a?b"


def test_a_nul_is_a_character(vocab: Vocab) -> None:
    assert vocab.detokenize(vocab.tokenize("a\0b", special=False)) == b"a\0b"


@pytest.mark.parametrize("unit", ["a", " ", "\n", "=", "é", "x\n"])
def test_a_very_long_line_is_tokenized(vocab: Vocab, unit: str) -> None:
    text = unit * 100_000
    assert vocab.detokenize(vocab.tokenize(text, special=False)) == text.encode()


def test_ids_are_found_by_exact_text(vocab: Vocab) -> None:
    assert vocab.id_of("</assistant>") == tiny.END_ASSISTANT
    assert vocab.id_of("<user>") is None
    assert vocab.id_of("assistant") is None


def test_markers_are_told_from_text(vocab: Vocab, leaking_vocab: Vocab) -> None:
    assert all(vocab.is_control(token) and leaking_vocab.is_control(token) for token in LEAKING)
    assert not vocab.is_control(vocab.tokenize("a", special=False)[0])


@pytest.mark.parametrize("token", [-1, 512, 2**31, 2**40])
def test_a_token_outside_the_vocabulary_is_refused(vocab: Vocab, token: int) -> None:
    with pytest.raises(RequestError, match="outside the vocabulary of 512"):
        vocab.piece(token)


def test_a_closed_model_says_so(tiny_model_path: Path) -> None:
    model = Model.open(tiny_model_path)
    model.close()
    model.close()
    for call in (lambda: model.vocab.tokenize("a", special=False), lambda: model.vocab.piece(5), lambda: model.handle):
        with pytest.raises(EngineClosed, match="open the model again"):
            call()


class Held:
    """A native function that does not return until it is released."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.begun, self.may_end = threading.Event(), threading.Event()

    def __call__(self, *arguments: Any) -> Any:
        self.begun.set()
        assert self.may_end.wait(60)
        return self._function(*arguments)


@pytest.fixture
def tokenizing(tiny_model_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Model, Held]]:
    """A model whose vocabulary another thread is tokenizing with until it is released."""
    model, held = Model.open(tiny_model_path), Held(lib.llama_tokenize)
    monkeypatch.setattr(lib, "llama_tokenize", held)
    thread = threading.Thread(target=lambda: model.vocab.tokenize("def", special=True))
    thread.start()
    held.begun.wait(60)
    yield model, held
    held.may_end.set()
    thread.join(60)
    model.close()


def test_a_token_becomes_text_while_another_thread_tokenizes(tokenizing: tuple[Model, Held], vocab: Vocab) -> None:
    found: list[bytes] = []
    model, _ = tokenizing
    reader = threading.Thread(target=lambda: found.append(model.vocab.piece(300)))
    reader.start()
    reader.join(10)
    assert found == [vocab.piece(300)]


def test_a_model_is_closed_only_when_no_thread_tokenizes_with_it(
    tokenizing: tuple[Model, Held], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, held = tokenizing
    free, held_while_freed = lib.llama_model_free, []

    def free_model(handle: ModelHandle) -> None:
        held_while_freed.append(not held.may_end.is_set())
        free(handle)

    monkeypatch.setattr(lib, "llama_model_free", free_model)
    closer = threading.Thread(target=model.close)
    closer.start()
    # Time enough to close too early; it cannot be too short for a model that waits.
    closer.join(0.2)
    held.may_end.set()
    closer.join(60)
    assert held_while_freed == [False]


def test_a_model_may_be_closed_while_another_thread_tokenizes(tiny_model_path: Path) -> None:
    model = Model.open(tiny_model_path)
    text = "def add(first, second): return first\n" * 2000
    found, said = [model.vocab.tokenize(text, special=False)], []
    again = threading.Event()

    def tokenize() -> None:
        try:
            while True:
                found.append(model.vocab.tokenize(text, special=False))
                again.set()
        except EngineClosed as error:
            said.append(error)

    thread = threading.Thread(target=tokenize)
    thread.start()
    again.wait(20)
    model.close()
    thread.join(20)
    assert said
    assert all(tokens == found[0] for tokens in found)
