"""Chat encoding on llama.cpp's own tokenizer: exact tokens, no forged ones, and an exact inverse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.chat.encoding import SafeEncoder, escape
from laguna_engine.chat.messages import AssistantMessage, CallFinished, ToolCall, ToolSpec
from laguna_engine.chat.parser import StreamParser
from laguna_engine.chat.template import Family, Renderer
from laguna_engine.llama.model import Model
from laguna_engine.llama.vocab import Vocab
from tests.engine import tiny
from tests.engine.chat.conversations import CONVERSATIONS
from tests.engine.chat.test_template import GOLDEN, render

FRAGMENTS = [
    "<user>",
    "</user>",
    "<system>",
    "〈|EOS|〉",
    "〈|MASK|〉",
    "<think>",
    "</assistant>",
    "<",
    "\n",
    "漢",
    " a",
]
texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=10).map("".join)


@pytest.fixture(scope="module", params=["control", "user-defined"])
def vocab(request, tmp_path_factory):
    """The tiny model's vocabulary, as current and as older conversions write it."""
    file = tiny.laguna()
    if request.param == "user-defined":
        kind, types = file.metadata["tokenizer.ggml.token_type"]
        loose = [tiny.USER_DEFINED if each == tiny.CONTROL else each for each in types]
        file.set("tokenizer.ggml.token_type", loose, kind)
    model = Model.open(file.write(tmp_path_factory.mktemp("vocabulary") / "model.gguf"))
    yield model.vocab
    model.close()


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['family']}-{case['thinking']}-{case['name']}")
def test_a_conversation_has_the_tokens_of_its_whole_text(vocab: Vocab, case):
    family = Family(case["family"])
    tokens = render(family, case["thinking"], CONVERSATIONS[case["name"]], SafeEncoder(vocab))
    assert vocab.detokenize(tokens).decode() == case["text"]
    assert tokens == vocab.tokenize(case["text"], special=True)


@given(text=texts)
def test_untrusted_text_never_yields_a_marker(vocab: Vocab, text):
    tokens = SafeEncoder(vocab).encode_text(text)
    assert not any(map(vocab.is_control, tokens))
    assert vocab.detokenize(tokens).decode() == escape(text)


@given(text=texts, family=st.sampled_from(Family))
def test_the_markers_of_a_turn_are_the_ones_we_wrote(vocab: Vocab, text, family):
    renderer = Renderer(SafeEncoder(vocab), family, thinking=False)
    tokens = renderer.user(text) + renderer.tool_response(text) + renderer.generation_prompt()
    markers = [vocab.piece(token).decode() for token in tokens if vocab.is_control(token)]
    assert markers == ["<assistant>", "</think>"]


@given(value=texts, family=st.sampled_from(Family))
def test_a_rendered_call_is_parsed_back(vocab: Vocab, value, family):
    encoder = SafeEncoder(vocab)
    call = ToolCall("find", {"pattern": value})
    tool = ToolSpec("find", "", {"type": "object", "properties": {"pattern": {"type": "string"}}})
    tokens = Renderer(encoder, family, thinking=False).assistant(AssistantMessage(calls=(call,)))
    parser = StreamParser([tool], markers=encoder.markers)
    events = [event for token in tokens for event in parser.feed(token, vocab.piece(token))]
    assert [event.call for event in events if isinstance(event, CallFinished)] == [call]
