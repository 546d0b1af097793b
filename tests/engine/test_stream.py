"""Channels between threads: bounded, woken, without loss."""

import threading

import pytest

from laguna_engine.stream import Channel

SECONDS = 10
"""Far longer than any test here takes; reached only by a hang."""


def in_thread(function, *arguments) -> threading.Thread:
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def test_batches_come_out_in_order_and_the_end_is_an_empty_one_for_ever():
    channel: Channel[int] = Channel(100)
    channel.publish([1, 2])
    channel.publish([3])
    channel.end([4])
    assert [channel.take() for _ in range(5)] == [[1, 2], [3], [4], [], []]


def test_nothing_written_is_not_the_end():
    channel: Channel[int] = Channel(100)
    channel.publish([])
    channel.publish([1])
    assert channel.take() == [1]


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
    assert [channel.take(), channel.take()] == [[1], [2]]
    for _ in range(2):
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


def test_polling_does_not_wait_and_whoever_polls_is_woken():
    channel: Channel[int] = Channel(100)
    wakes: list[str] = []
    channel.wake = lambda: wakes.append("woken")
    assert channel.poll() is None
    channel.publish([1])
    assert wakes == ["woken"]
    assert channel.poll() == [1]
    assert channel.poll() is None
    channel.wake = None
    channel.publish([2])
    channel.end([])
    assert wakes == ["woken"]
    assert [channel.poll(), channel.poll(), channel.poll()] == [[2], [], []]


def test_nothing_is_lost_between_a_hasty_writer_and_a_hasty_reader():
    channel: Channel[int] = Channel(3)
    got: list[int] = []

    def read():
        while batch := channel.take():
            got.extend(batch)

    reader = in_thread(read)
    for number in range(5000):
        channel.publish([number])
    channel.end([])
    reader.join(SECONDS)
    assert got == list(range(5000))
