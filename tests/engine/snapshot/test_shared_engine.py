"""Conversations that take turns on one engine: each is saved into its own folder, and found again there."""

from pathlib import Path

import pytest

from laguna_engine.engine import Engine
from laguna_engine.errors import SnapshotError, SnapshotProblem
from laguna_engine.snapshot.chunk_file import read_chunk
from tests.engine.snapshot.chats import EARLIER, MESSAGES, options, say

OTHER = [400 - token % 350 for token in EARLIER]
BUDGET = 1 << 30


def saved_tokens(folder: Path) -> list[int]:
    """The tokens of all files of a folder."""
    chunks = sorted((read_chunk(path) for path in folder.glob("*.kv")), key=lambda chunk: chunk.start)
    return [int(token) for chunk in chunks for token in chunk.tokens]


def test_each_is_saved_alone_and_restored_by_another_engine(tiny_model_path: Path, tmp_path: Path) -> None:
    chats = {"one": list(EARLIER), "other": list(OTHER)}
    with Engine.open(options(tiny_model_path)) as engine:
        engine.hold_conversations(BUDGET)
        for message in MESSAGES[:3]:
            for chat in chats.values():
                chat.extend(message)
                chat.extend(say(engine, chat, 20).tokens)
            # Neither is in the cache any more when its turn to be saved comes, but for the last.
            for name, chat in chats.items():
                engine.snapshot(tmp_path / name, of=chat, last=message is MESSAGES[2])
    for name, chat in chats.items():
        # Nothing is written twice, and nothing of the other's.
        assert saved_tokens(tmp_path / name) == chat[:-1]
    with Engine.open(options(tiny_model_path)) as fresh:
        fresh.hold_conversations(BUDGET)
        for name, chat in chats.items():
            assert fresh.restore(tmp_path / name, chat).tokens == len(chat) - 1
        # The first one waits in memory since the second was restored.
        for chat in chats.values():
            assert say(fresh, [*chat, 60, 61], 3).cached >= len(chat) - 1


def test_another_conversation_is_not_saved_in_its_place(tiny_model_path: Path, tmp_path: Path) -> None:
    with Engine.open(options(tiny_model_path)) as engine:
        one = [*EARLIER, *say(engine, EARLIER, 5).tokens]
        say(engine, OTHER, 5)
        # It waits nowhere: nothing is held.
        with pytest.raises(SnapshotError) as raised:
            engine.snapshot(tmp_path / "one", of=one)
        assert raised.value.problem is SnapshotProblem.CHANGED
        assert not (tmp_path / "one").exists()
