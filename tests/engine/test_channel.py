"""Batches from one thread to another: bounded, woken, never lost."""

import threading

import pytest

from laguna_engine.channel import Channel

SECONDS = 10
"""Far longer than anything here takes; only a hang reaches it."""


def in_thread(function, *arguments) -> threading.Thread:
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def test_items_come_out_in_order_and_the_end_is_an_empty_batch():
    channel: Channel[int] = Channel(100)
    channel.publish([1, 2])
    channel.publish([3])
    channel.end([4])
    assert channel.take() == [1, 2, 3, 4]
    assert channel.take() == []


def test_a_reader_waits_for_the_writer():
    channel: Channel[int] = Channel(100)
    got: list[list[int]] = []
    reader = in_thread(lambda: got.append(channel.take()))
    channel.publish([1])
    reader.join(SECONDS)
    assert got == [[1]]


def test_the_writer_waits_while_the_reader_is_behind():
    channel: Channel[int] = Channel(2)
    writer = in_thread(channel.publish, [1, 2, 3])
    writer.join(0.05)
    assert writer.is_alive()
    assert channel.take() == [1, 2, 3]
    writer.join(SECONDS)
    assert not writer.is_alive()


@pytest.mark.parametrize("release", [Channel.hurry, lambda channel: channel.end([])])
def test_a_waiting_writer_is_let_go_when_nobody_will_read(release):
    channel: Channel[int] = Channel(1)
    writer = in_thread(channel.publish, [1])
    writer.join(0.05)
    assert writer.is_alive()
    release(channel)
    writer.join(SECONDS)
    assert not writer.is_alive()


def test_an_error_comes_after_what_was_written_before_it():
    channel: Channel[int] = Channel(100)
    channel.publish([1])
    channel.end([2], ValueError("broken"))
    assert channel.take() == [1, 2]
    with pytest.raises(ValueError, match="broken"):
        channel.take()


def test_only_the_first_end_counts():
    channel: Channel[int] = Channel(100)
    channel.end([1], ValueError("first"))
    channel.end([2])
    channel.publish([3])
    assert channel.take() == [1]
    with pytest.raises(ValueError, match="first"):
        channel.take()


def test_polling_an_empty_channel_wakes_once_when_something_comes():
    channel: Channel[int] = Channel(100)
    wakes: list[str] = []
    assert channel.poll(lambda: wakes.append("woken")) is None
    channel.publish([1])
    channel.publish([2])
    assert wakes == ["woken"]
    assert channel.poll(lambda: wakes.append("again")) == [1, 2]
    channel.end([])
    assert wakes == ["woken"]
    assert channel.poll(lambda: wakes.append("again")) == []
