"""The rate is that of the last seconds, and nobody is told a time that nobody can know."""

from laguna_tui.models.download_progress import RateMeter


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_was_here_before_is_done_but_is_no_speed():
    clock = Clock()
    meter = RateMeter(total=1000, done=600, clock=clock)
    clock.now += 2
    assert (meter.rate, meter.eta_s) == (0.0, None)
    meter.add(100)
    assert meter.rate == 50.0
    assert meter.eta_s == 300 / 50.0


def test_a_first_moment_gives_no_time():
    clock = Clock()
    meter = RateMeter(total=1000, done=0, clock=clock)
    clock.now += 0.5
    meter.add(100)
    assert meter.eta_s is None


def test_only_the_last_seconds_count():
    clock = Clock()
    meter = RateMeter(total=10_000, done=0, clock=clock)
    for _ in range(10):
        clock.now += 1
        meter.add(1000 if clock.now < 105 else 10)
    clock.now += 4
    assert meter.rate < 20


def test_a_silent_connection_has_no_remaining_time():
    clock = Clock()
    meter = RateMeter(total=1000, done=0, clock=clock)
    clock.now += 2
    meter.add(100)
    clock.now += RateMeter.WINDOW_S + 1
    assert (meter.rate, meter.eta_s) == (0.0, None)


def test_lost_bytes_are_subtracted():
    clock = Clock()
    meter = RateMeter(total=1000, done=500, clock=clock)
    clock.now += 2
    meter.add(-500)
    assert (meter.done, meter.rate, meter.eta_s) == (0, 0.0, None)
