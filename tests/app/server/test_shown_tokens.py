"""Logprobs: one entry for each token that adds to the content, and their bytes joined are the content."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.events import Source, Token
from laguna_tui.server.shown_tokens import ShownToken, ShownTokens
from tests.app.server.serving import WEATHER, Served
from tests.scripted_model import call, say, think

UNICODE = "Größe 日本語 🤗🏳️‍🌈 \x00 end"
ANSWERS = {
    "characters of several tokens": say(UNICODE),
    "line breaks first": say("\n\n\n  Hello\n\nthere."),
    "blanks last": say("Hello there. \n \n"),
    "thinking first": say(think("Größe 🤗\n\n"), f"\n\n{UNICODE}"),
    "a call behind it": say("Größe 🤗: ", call("weather", city="Rome")),
    "text between calls": say("one \n", call("weather", city="Rome"), "two"),
    "an escaped tag": say("It writes </assistant> and <tool_call> and a < b </arg_key>"),
    "nothing": say(""),
}


def entries_of(events: list[Any]) -> list[Any]:
    choices = [event["choices"][0] for event in events if event["choices"]]
    return [entry for choice in choices if choice["logprobs"] for entry in choice["logprobs"]["content"]]


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_entries_of_a_chat_are_its_content(serve: Any, answer: str):
    server = serve(lambda seen: ANSWERS[answer], thinking="thinking" in answer)
    wanted = {"tools": [WEATHER], "logprobs": True, "top_logprobs": 2, "temperature": 0}
    choice = server.chat("hi", **wanted).body["choices"][0]
    content, entries = choice["message"]["content"] or "", choice["logprobs"]["content"]
    assert bytes(byte for entry in entries for byte in entry["bytes"]).decode() == content
    assert all(entry["bytes"] for entry in entries)
    for entry in entries:
        assert entry["token"] == bytes(entry["bytes"]).decode("utf-8", "replace")
        assert len(entry["top_logprobs"]) == 2
    events = server.chat_events("hi", **wanted)
    named = [[(entry["id"], entry["bytes"]) for entry in found] for found in (entries_of(events), entries)]
    assert named[0] == named[1]
    assert "".join(event["choices"][0]["delta"].get("content") or "" for event in events) == content


def test_each_token_of_a_text_has_an_entry(serve: Any):
    server = serve(lambda seen: say(UNICODE))
    found = server.chat("hi", logprobs=True, temperature=0).body
    # The line breaks around the text and the end of the turn are no part of it.
    assert len(found["choices"][0]["logprobs"]["content"]) == found["usage"]["completion_tokens"] - 3


@pytest.mark.parametrize("limit", range(1, 30))
def test_the_entries_of_an_answer_that_is_cut_are_its_content(serve: Any, limit: int):
    server = serve(lambda seen: say(UNICODE))
    choice = server.chat("hi", logprobs=True, max_tokens=limit).body["choices"][0]
    entries = choice["logprobs"]["content"]
    assert bytes(byte for entry in entries for byte in entry["bytes"]).decode() == choice["message"]["content"]


@pytest.mark.parametrize("stop", ["lo", "🤗", "there. Gen", "本"])
def test_the_entries_of_an_answer_that_is_stopped_are_its_content(serve: Any, stop: str):
    server = serve(lambda seen: say(f"Hello there. General {UNICODE}"))
    choice = server.chat("hi", logprobs=True, stop=[stop]).body["choices"][0]
    entries = choice["logprobs"]["content"]
    assert bytes(byte for entry in entries for byte in entry["bytes"]).decode() == choice["message"]["content"]


@pytest.mark.parametrize("stop", [None, "lo", "🤗", "本"])
def test_the_entries_of_a_completion_are_its_text(serve: Any, stop: str | None):
    server: Served = serve(lambda seen: say(f"\n\nHello {UNICODE}"))
    prompt = server.post("/apply-template", messages=[{"role": "user", "content": "hi"}]).body["prompt"]
    wanted = {"prompt": prompt, "logprobs": 1, "temperature": 0, "max_tokens": 100, "stop": stop}
    choice = server.post("/v1/completions", **wanted).body["choices"][0]
    noted = choice["logprobs"]
    assert bytes(byte for each in noted["bytes"] for byte in each).decode() == choice["text"]
    assert {len(values) for values in noted.values()} == {len(noted["tokens"])}
    streamed = [event["choices"][0]["logprobs"] for event in server.events("/v1/completions", **wanted)]
    assert [token for each in streamed for token in each["bytes"]] == noted["bytes"]


SOURCE = Source("target", "target")


def tokens_of(pieces: list[bytes]) -> tuple[ShownTokens, list[Token]]:
    return ShownTokens(pieces.__getitem__), [Token(index, "", SOURCE, index) for index in range(len(pieces))]


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.lists(st.integers(1, 5)), st.lists(st.integers(1, 9)))
def test_a_text_in_any_pieces_is_assigned_to_its_tokens(text: str, sizes: list[int], cuts: list[int]):
    left, pieces = text.encode(), []
    for size in [*sizes, len(left)]:
        if left:
            pieces.append(left[:size])
            left = left[size:]
    shown, tokens = tokens_of(pieces)
    for token in tokens:
        shown.add(token)
    found: list[ShownToken] = []
    for cut in [*cuts, len(text)]:
        if text:
            found += shown.take(text[:cut])
            text = text[cut:]
    assert [each.token.id for each in found] == list(range(len(pieces)))
    assert [each.shown for each in found] == pieces
    assert shown.rest() == []


def test_what_is_not_shown_has_no_entry():
    shown, tokens = tokens_of([b"\n", b"\n He", b"llo ", b"\n"])
    for token in tokens:
        shown.add(token)
    found = shown.take("Hello")
    assert [each.shown for each in found] == [b"He"]
    # The blanks at the end of a text are held back, and may never come.
    assert [each.shown for each in shown.rest()] == [b"llo"]


def test_a_text_that_is_not_the_tokens_own_is_dealt_out():
    shown, tokens = tokens_of([b"\xff", b"a", b"\xfe"])
    for token in tokens:
        shown.add(token)
    assert b"".join(each.shown for each in shown.take("\N{REPLACEMENT CHARACTER}a")).decode() == (
        "\N{REPLACEMENT CHARACTER}a"
    )
