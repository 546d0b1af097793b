"""The conversation as blocks that the user can look at and change: what each costs, and why it is as it is."""

import re
from collections.abc import Callable, Sequence

from laguna_engine.chat.transcript import Role
from laguna_tui.agent.conversation import Conversation, Piece
from laguna_tui.agent.leftout import places_of
from laguna_tui.agent.retold import MESSAGE, Heard, Said
from laguna_tui.context.blocks import BlockKind, BlockText, ContextBlock, Place

_BY_USER = "by you"
_TITLE_CHARS = 60
_VALUE = "<arg_value>(.*?)</arg_value>"
# The tool, its first argument, and the second one where only that says what is looked for.
_CALL = re.compile(rf"<tool_call>\s*(\S+)(?:.*?{_VALUE}(?:\s*<arg_key>pattern</arg_key>\s*{_VALUE})?)?", re.DOTALL)
_TAG = re.compile(r"</?[a-z_]+>")


def blocks(
    conversation: Conversation, cached: int, count: Callable[[str], int], decode: Callable[[Sequence[int]], str]
) -> list[ContextBlock]:
    """The blocks of a conversation.

    Args:
        cached: tokens of the conversation, from its start, that are in the KV cache.
        count: tokens of a text, without the turn around it.
        decode: the text of tokens.
    """
    return [_block(piece, cached, count, decode) for piece in conversation.pieces()]


def block_text(conversation: Conversation, number: int, decode: Callable[[Sequence[int]], str]) -> BlockText:
    """What a block holds, and what of it is given; IndexError when there is no such block."""
    piece = conversation.pieces()[number]
    given = decode(conversation.tokens[piece.block.start : piece.block.end])
    match piece.said, piece.attachment:
        case Said(role=Role.TOOL, text=text, place=place), _:
            return BlockText(text, "" if place is Place.DROPPED else piece.said.given)
        case _, None:
            return BlockText(given, given)
        case _, attachment:
            return BlockText(attachment.whole, "" if attachment.place is Place.DROPPED else attachment.text)


def _block(
    piece: Piece, cached: int, count: Callable[[str], int], decode: Callable[[Sequence[int]], str]
) -> ContextBlock:
    tokens = piece.block.end - piece.block.start
    ready = min(max(cached - piece.block.start, 0), tokens)
    said, attachment = piece.said, piece.attachment
    if attachment is not None:
        whole = tokens if attachment.place is Place.KEPT else count(attachment.whole)
        return ContextBlock(
            piece.number, attachment.kind, attachment.title, tokens, whole, ready,
            attachment.place, attachment.why, attachment.choices,
        )  # fmt: skip
    if isinstance(said, Said) and said.role is Role.TOOL:
        whole = tokens if said.place is Place.KEPT else count(said.text)
        why = "a tool's answer" if said.place is Place.KEPT else _BY_USER
        return ContextBlock(
            piece.number, BlockKind.TOOL, said.label, tokens, whole, ready, said.place, why, places_of(said.text)
        )
    kind, title, why = _fixed(piece, decode)
    return ContextBlock(piece.number, kind, title, tokens, tokens, ready, Place.KEPT, why, (Place.KEPT,))


def _fixed(piece: Piece, decode: Callable[[Sequence[int]], str]) -> tuple[BlockKind, str, str]:
    """Kind, title and reason of a block that is never touched."""
    said = piece.said
    if said is None:
        return BlockKind.SYSTEM, piece.block.label, "always there"
    if isinstance(said, Heard):
        return BlockKind.ANSWER, _answer(decode(said.tokens)) or piece.block.label, "what the model said"
    if said.answer is not None:
        calls = " ".join(f"calls {call.name}" for call in said.answer.calls[:1])
        return BlockKind.ANSWER, _short(said.answer.text) or calls or piece.block.label, "what the model said"
    if said.attachments and piece.part == 0:
        return BlockKind.MESSAGE, "folder, date and git" if said.opening else "your message begins", "always there"
    return BlockKind.MESSAGE, _short(said.text), "your words" if said.label == MESSAGE else f"a {said.label}"


def _answer(text: str) -> str:
    """What the model said in a few words, or which tool it called."""
    call = _CALL.search(text)
    return _short(" ".join(["calls", *filter(None, call.groups())]) if call else _TAG.sub(" ", text))


def _short(text: str) -> str:
    title = " ".join(text.split())
    return title if len(title) <= _TITLE_CHARS else title[: _TITLE_CHARS - 1] + "…"
