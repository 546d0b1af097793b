"""Prompts of clients as messages: what is linked is mentioned, what is embedded is quoted, the rest is named."""

from pathlib import Path
from typing import Any

import pytest
from acp.schema import PromptRequest

from laguna_tui.acp.prompt_blocks import PromptMessage, with_known_blocks
from laguna_tui.context.mentions import mentions

FOLDER = Path("/home/me/shop")


def message(*blocks: dict[str, Any]) -> PromptMessage:
    """The message of blocks as they come over the wire."""
    request = {"method": "session/prompt", "params": {"sessionId": "1", "prompt": list(blocks)}}
    known = with_known_blocks(request)["params"]
    return PromptMessage.of(PromptRequest.model_validate(known).prompt, FOLDER)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def link(uri: str) -> dict[str, Any]:
    return {"type": "resource_link", "name": "a", "uri": uri}


ADD, SUB = link("file:///home/me/shop/add.py"), link("file:///home/me/shop/lib/sub.py")


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ((text("fix this"), ADD), "fix this @add.py"),
        ((ADD, SUB), "@add.py @lib/sub.py"),
        ((text("compare "), ADD, text("with"), SUB, text(" please")), "compare @add.py with @lib/sub.py please"),
        ((ADD, text(":10 is wrong")), "@add.py :10 is wrong"),
        ((text("one\n"), ADD, text("\ntwo")), "one\n@add.py\ntwo"),
        ((text("```\ncode"), ADD), "@add.py\n```\ncode @add.py"),
    ],
)
def test_a_link_alone_is_a_mention(blocks, words):
    found = message(*blocks)
    assert found.text == words
    assert {each.name for each in mentions(words)} == {
        name for block, name in ((ADD, "add.py"), (SUB, "lib/sub.py")) if block in blocks
    }
    assert found.notes == []


@pytest.mark.parametrize(
    ("uri", "mention"),
    [
        ("file:///home/me/shop/add.py#L10:20", "@add.py:10-20"),
        ("file:///home/me/shop/add.py?symbol=add#L10:20", "@add.py:10-20"),
        ("file:///home/me/shop/add.py#L10-L20", "@add.py:10-20"),
        ("file:///home/me/shop/add.py#L10C3-L20C1", "@add.py:10-20"),
        ("file:///home/me/shop/add.py#L10", "@add.py:10"),
        ("file:///home/me/shop/my%20list.py#L1:2", '@"my list.py":1-2'),
        ("file:///home/me/shop/x/../add.py", "@add.py"),
        ("file:///home/me/shop", '@"."'),
        ("file:///etc/hosts", "@/etc/hosts"),
    ],
)
def test_a_link_names_a_file_and_its_lines(uri, mention):
    assert message(link(uri)).text == mention


def test_a_link_through_another_path_of_the_folder_is_inside_it(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "other").symlink_to("shop")
    block = PromptRequest.model_validate(
        {"sessionId": "1", "prompt": [link((tmp_path / "other/add.py").as_uri())]}
    ).prompt
    assert PromptMessage.of(block, (tmp_path / "shop").resolve()).text == "@add.py"


@pytest.mark.parametrize("uri", ["https://example.org/a", "zed:///agent/thread/1", "http://[", "file:"])
def test_a_link_to_something_else_is_named(uri):
    found = message(text("see"), link(uri))
    assert found.text == f"see {uri}"
    assert found.notes == [f"{uri} was not read: only files in the folder can be attached."]


def test_an_embedded_text_is_quoted_with_its_lines_and_mentions_nothing():
    resource = {"uri": "file:///home/me/shop/add.py#L3:4", "text": "@property\n```\n@add.py"}
    found = message(text("explain"), {"type": "resource", "resource": resource})
    assert found.text == "explain\nadd.py (lines 3-4)\n~~~\n@property\n```\n@add.py\n~~~\n"
    assert mentions(found.text) == ()


@pytest.mark.parametrize(
    ("block", "note"),
    [
        (
            {"type": "image", "data": "", "mimeType": "image/png"},
            "The image was left out: this model reads only text.",
        ),
        (
            {"type": "audio", "data": "", "mimeType": "audio/wav"},
            "The audio was left out: this model reads only text.",
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///a.png", "blob": ""}},
            "The binary resource was left out: this model reads only text.",
        ),
        (
            {"type": "video\x1b", "frames": []},
            'A part of the message was left out: laguna-tui does not know its type "video␛"; update laguna-tui.',
        ),
    ],
)
def test_what_the_model_cannot_read_is_left_out_and_named(block, note):
    found = message(text("look"), block)
    assert (found.text, found.notes) == ("look", [note])
