"""Frozen objects are collected once they are garbage, without a full collection every time."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from laguna_tui.tui.process_setup import GcTuner


class Circle:
    """Refers to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Nothing but the tuner collects, and nothing stays set aside."""
    gc.disable()
    yield
    gc.unfreeze()
    gc.enable()


def test_circles_that_died_after_they_were_set_aside_are_found_once_the_heap_has_grown() -> None:
    tuner, circle = GcTuner(), Circle()
    dead = weakref.ref(circle)
    tuner.collect_and_freeze()
    del circle
    tuner.collect_and_freeze()
    assert dead() is not None
    alive = [[] for _ in range(gc.get_freeze_count())]
    # The first takes them in, the second looks at all.
    for _ in range(2):
        tuner.collect_and_freeze()
    assert dead() is None
    assert alive


def test_garbage_alone_makes_it_look_at_all_of_it() -> None:
    tuner, made = GcTuner(), []
    # However large the heap of the tests is, a tenth of it dies each time.
    for _ in range(20):
        circles = [Circle() for _ in range(max(1000, gc.get_freeze_count() // 10))]
        made.append(weakref.ref(circles[0]))
        tuner.collect_and_freeze()
        del circles
        if made[0]() is None:
            return
    pytest.fail("what has died stays for ever")
