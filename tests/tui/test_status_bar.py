"""The status bar shows the most important parts at any width."""

from dataclasses import replace

import pytest

from laguna_engine.events import LoadProgress, Prefill
from laguna_tui.base import units
from laguna_tui.base.events import (
    Compacted,
    Compacting,
    Rate,
    ReasoningDelta,
    ReplayCheck,
    ReplayProgress,
    StepFinished,
    TextDelta,
    ToolStarted,
    TurnStarted,
)
from laguna_tui.base.permission_request import Mode
from laguna_tui.tui.session_controller import SessionState
from laguna_tui.tui.status_bar import SessionStatus, status_parts
from laguna_tui.tui.text_lines import MUTED, cells, progress_bar
from tests.tui.scripted import STATS

READY = SessionStatus(SessionState.READY, "Laguna Nano", "~/src/project", used=1234, size=8192)
STATES = (
    READY,
    SessionStatus(SessionState.LOADING, "Laguna Nano", "~/src", load=LoadProgress("loading the weights", 0.42)),
    SessionStatus(
        SessionState.BUSY, "Laguna Nano", "~/src", 3000, 8192, "reading", prefill=Prefill(3000, 6000, 1000, 4.0)
    ),
    SessionStatus(SessionState.BUSY, "Laguna Nano", "~/src", 3000, 8192, "answering", rate=41.7),
    SessionStatus(SessionState.STOPPING, "Laguna Nano", "~/src", 3000, 8192, rate=41.7),
    SessionStatus(SessionState.FAILED, "日本語のモデル", "~/日本語"),
)


def text(status: SessionStatus, width: int) -> str:
    return "".join(part for part, _ in status_parts(status, width))


@pytest.mark.parametrize("status", STATES)
def test_the_bar_never_leaves_its_row(status: SessionStatus) -> None:
    for width in range(4, 200):
        assert cells(text(status, width)) <= width


def test_a_wide_bar_says_everything() -> None:
    assert text(READY, 80).split() == "● ready ~/src/project · Laguna Nano · ask · 1,234 of 8,192 tokens (15 %)".split()


def test_forty_columns_keep_the_essentials() -> None:
    assert text(READY, 40).split() == "● ready 1,234 of 8,192 tokens (15 %)".split()
    assert text(STATES[3], 40).split() == "◌ answering 42 tok/s context 37 %".split()
    assert text(READY, 32).split() == "● ready ask · context 15 %".split()


def test_the_mode_is_there_in_any_width() -> None:
    busy = replace(STATES[3], mode="spec off")
    assert text(replace(READY, mode="fast"), 40).split() == "● ready ask · fast · context 15 %".split()
    assert text(busy, 40).split() == "◌ answering 42 tok/s spec off · 37 %".split()
    assert "fast · 1,234 of 8,192" in text(replace(READY, mode="fast"), 80)


@pytest.mark.parametrize(
    ("mode", "word"), [(Mode.ACCEPT_EDITS, "accept edits"), (Mode.PLAN, "plan"), (Mode.AUTO, "auto")]
)
def test_a_mode_that_does_not_ask_about_everything_is_said_in_any_width(mode: Mode, word: str) -> None:
    allowed = replace(READY, mode="fast", permissions=mode)
    assert f"{word} · fast · 1,234 of 8,192" in text(allowed, 80)
    assert word in text(allowed, 40)
    assert text(allowed, 24).split() == f"● ready {word}".split()


def test_a_context_that_is_nearly_full_is_a_warning() -> None:
    tones = [
        [tone for part, tone in status_parts(replace(READY, used=used), 80) if "%" in part] for used in (900, 7500)
    ]
    assert tones == [[MUTED], ["$warning"]]


def test_background_commands_are_counted_in_any_width() -> None:
    assert "2 jobs · ask · fast · 1,234 of 8,192" in text(replace(READY, mode="fast", jobs=2), 80)
    assert "1 job" in text(replace(READY, mode="fast", jobs=1), 20)


def test_a_compaction_says_that_it_goes_on_and_what_is_used_afterwards() -> None:
    busy = replace(STATES[3], used=8000).updated(Compacting(8000, 8192))
    assert "compacting" in text(busy, 80)
    assert busy.updated(Compacted(8000, 3000, 2, 0, 2900)).used == 3000


def test_a_proof_shows_how_far_it_is() -> None:
    status = SessionStatus(SessionState.BUSY, size=8192, rate=40.0).updated(ReplayProgress(103, 412))
    assert "replaying ━" in text(status, 80)
    assert " 25 %" in text(status, 80)
    assert status.updated(ReplayCheck(412, 412, None, 1.0)).doing == "waiting"


def test_reading_shows_a_bar_the_share_and_the_speed() -> None:
    shown = text(STATES[2], 80)
    assert "reading ━" in shown
    assert " 50 %" in shown
    assert "500 tok/s" in shown


def test_loading_shows_how_far() -> None:
    assert "loading the weights ━" in text(STATES[1], 80)
    assert "42 %" in text(STATES[1], 40)


def test_events_move_the_numbers() -> None:
    status = SessionStatus(SessionState.BUSY, size=8192).updated(TurnStarted(500, 100))
    assert (status.used, status.prefill) == (500, Prefill(100, 500, 100, 0.0))
    assert status.doing == "reading"
    assert status.updated(TextDelta("x")).prefill is None
    assert [
        status.updated(event).doing for event in (ReasoningDelta("x"), ToolStarted(1, "find", {}), TextDelta("x"))
    ] == [
        "thinking",
        "using a tool",
        "answering",
    ]
    status = status.updated(Rate(10, 40.0, 510))
    assert (status.used, status.rate, status.doing) == (510, 40.0, "reading")
    assert status.updated(Rate(10, 40.0, 510, in_call=True)).doing == "writing a call"
    status = status.updated(StepFinished(STATS, 530, 4096))
    assert (status.used, status.size, status.rate) == (530, 4096, STATS.decode_rate)


def test_numbers_read_well() -> None:
    assert units.rate(3.14159) == "3.1 tok/s"
    assert units.rate(1234.5) == "1,234 tok/s"
    assert units.share(1, 0) == "–"
    assert progress_bar(0.5, 10) == "━━━━━─────"
    assert progress_bar(7.0, 4) == "━━━━"


TITLED = SessionStatus(
    SessionState.READY, "Laguna Nano", "~/src/shop", 917, 4096, rate=679.0, mode="fast", title="where is total defined?"
)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (
            120,
            " ● ready 679 tok/s where is total defined?"
            " ~/src/shop · Laguna Nano · ask · fast · 917 of 4,096 tokens (22 %) ",
        ),
        (100, "● ready 679 tok/s where is total defi… Laguna Nano · ask · fast · 917 of 4,096 tokens (22 %)"),
        (80, " ● ready  679 tok/s   where is tota…  Laguna Nano  ·  ask · fast · context 22 % "),
        (40, " ● ready      ask · fast · context 22 % "),
    ],
)  # fmt: skip
def test_the_title_of_the_session_gives_way_last_to_what_matters_less(width: int, shown: str) -> None:
    assert text(TITLED, width).split() == shown.split()
