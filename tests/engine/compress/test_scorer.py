"""Scorer: scores depend on the text and the query alone; progress, cancellation and memory."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laguna_engine.compress.scorer import Scorer
from laguna_engine.compress.scorer_graph import BodyGraph, ScorerModel
from laguna_engine.compress.scorer_windows import Window
from laguna_engine.compress.scores import Scores
from laguna_engine.errors import EngineClosed, RequestError, Stopped
from tests.engine import scorers
from tests.engine.scorers import Variant

ASKED = "where is the function that adds two numbers?"
TEXTS = [f"def function_{i}(a, b):\n    return a + {i}\n" * (1 + i % 5) for i in range(40)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scorers.make(Variant()).write(tmp_path_factory.mktemp("scorer") / "scorer.gguf")


@pytest.fixture(scope="module")
def scorer(path: Path) -> Iterator[Scorer]:
    with Scorer.open(path, threads=1) as opened:
        yield opened


def close(one: Scores, other: Scores) -> bool:
    """Equal up to rounding to half precision, which depends on the block's position in its window."""
    return one == pytest.approx(other, abs=2e-3)


def test_a_texts_scores_do_not_depend_on_the_texts_beside_it(scorer: Scorer) -> None:
    together = scorer.score(TEXTS, ASKED)
    for text, score in list(zip(TEXTS, together, strict=True))[::7]:
        assert close(scorer.score([text], ASKED)[0], score)


def test_the_order_of_texts_changes_nothing(scorer: Scorer) -> None:
    backwards = scorer.score(TEXTS[::-1], ASKED)[::-1]
    assert len({score.gain for score in backwards}) > len(TEXTS) / 2
    assert all(map(close, backwards, scorer.score(TEXTS, ASKED)))


def test_the_same_texts_and_query_give_the_same_scores(scorer: Scorer) -> None:
    assert scorer.score(TEXTS, ASKED) == scorer.score(TEXTS, ASKED)


def test_another_query_gives_other_scores(scorer: Scorer) -> None:
    assert scorer.score(TEXTS, ASKED) != scorer.score(TEXTS, "who calls the stack?")


def test_a_text_that_holds_the_query_makes_it_likelier(tmp_path: Path) -> None:
    # Values that are copied and a head that reads them back: what was seen becomes likely.
    file = scorers.make(Variant(n_layer=1, tied=True))
    for name in ("attn_v", "attn_output"):
        rows, width = file.tensors[f"blk.0.{name}.weight"].shape
        file.tensors[f"blk.0.{name}.weight"][:] = 0
        for i in range(min(rows, width)):
            file.tensors[f"blk.0.{name}.weight"][i, i] = 4
    with Scorer.open(file.write(tmp_path / "copying.gguf"), threads=1) as scorer:
        holds, other = scorer.score(["for x in this text", "%%%%%%%%"], "for x in this text")
    assert holds.gain > other.gain


@given(st.lists(st.text(max_size=200), max_size=6), st.text(max_size=80))
@settings(max_examples=25)
def test_any_text_gets_finite_scores(scorer: Scorer, texts: list[str], query: str) -> None:
    if not query:
        query = "\n"
    scores = scorer.score(texts, query)
    assert len(scores) == len(texts)
    assert all(abs(number) < 1e4 for score in scores for number in score)


def test_no_texts_are_no_work(scorer: Scorer) -> None:
    before = scorer.tokens
    assert scorer.score([], ASKED) == []
    assert scorer.tokens == before


def test_an_empty_query_is_refused(scorer: Scorer) -> None:
    with pytest.raises(RequestError) as error:
        scorer.score(TEXTS, "")
    assert str(error.value) == "there is no query to score texts for; ask something"


def test_markers_in_a_text_are_text(scorer: Scorer) -> None:
    marked, plain = scorer.score(["<assistant>", "< assistant >"], ASKED)
    assert marked != plain
    assert scorer.count("<assistant>") > 1


def test_the_tokens_of_the_texts_are_counted_and_timed(path: Path) -> None:
    with Scorer.open(path, threads=1) as scorer:
        assert (scorer.tokens, scorer.rate) == (0, 0.0)
        scorer.score(TEXTS, ASKED)
        assert scorer.tokens == sum(map(scorer.count, TEXTS))
        assert scorer.rate > 0


@pytest.mark.parametrize("window", [64, 4096])
def test_the_rate_may_be_measured_before_there_is_a_text(window: int, path: Path) -> None:
    with Scorer.open(path, threads=1, window=window) as scorer:
        assert 0 < scorer.measure() == scorer.rate
        assert scorer.tokens == 0


def test_progress_goes_up_to_1(scorer: Scorer) -> None:
    told: list[float] = []
    scorer.score(TEXTS, ASKED, progress=told.append)
    assert len(told) > 3
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_it_stops_before_the_next_window(scorer: Scorer) -> None:
    told: list[float] = []
    with pytest.raises(Stopped):
        scorer.score(TEXTS, ASKED, should_stop=lambda: len(told) == 2, progress=told.append)
    assert len(told) == 2
    assert len(scorer.score(TEXTS, ASKED)) == len(TEXTS)


def interrupt(thread: int) -> None:
    """Send SIGINT to a waiting thread; one sent just before it waits would only be handled afterwards."""
    time.sleep(0.2)
    signal.pthread_kill(thread, signal.SIGINT)


@pytest.fixture
def heeded() -> Iterator[None]:
    """Handle SIGINT: a shell that starts a process in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded")
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals that are sent to one thread")
def test_ctrl_c_ends_the_computation_that_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only before the next window: one of 4,000 tokens takes a minute with a larger model."""
    main, run = threading.get_ident(), BodyGraph.run
    ended: list[Stopped] = []

    def interrupting(body: BodyGraph, window: Window) -> object:
        interrupt(main)
        try:
            # Long enough that the signal is heard before it ends by itself.
            return [run(body, window) for _ in range(1000)]
        except Stopped as error:
            ended.append(error)
            raise

    monkeypatch.setattr(BodyGraph, "run", interrupting)
    with Scorer.open(path, threads=1) as scorer:
        with pytest.raises(KeyboardInterrupt):
            scorer.score(TEXTS, ASKED)
        monkeypatch.undo()
        assert len(scorer.score(TEXTS, ASKED)) == len(TEXTS)
    assert len(ended) == 1


@pytest.mark.usefixtures("heeded")
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals that are sent to one thread")
def test_ctrl_c_while_it_opens_frees_what_was_loaded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main, load = threading.get_ident(), ScorerModel.open
    loaded: list[ScorerModel] = []

    def interrupting(*arguments: Any) -> ScorerModel:
        interrupt(main)
        loaded.append(load(*arguments))
        assert loaded[0].nbytes > 0
        return loaded[0]

    monkeypatch.setattr(ScorerModel, "open", interrupting)
    with pytest.raises(KeyboardInterrupt):
        Scorer.open(path, threads=1)
    assert loaded[0].nbytes == 0


def test_a_failing_progress_function_ends_the_work_with_its_error(scorer: Scorer) -> None:
    def fail(_: float) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        scorer.score(TEXTS, ASKED, progress=fail)
    assert len(scorer.score(TEXTS[:1], ASKED)) == 1


def test_threads_may_ask_at_the_same_time(scorer: Scorer) -> None:
    found: list[list[Scores]] = []
    threads = [threading.Thread(target=lambda: found.append(scorer.score(TEXTS, ASKED))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [scorer.score(TEXTS, ASKED)] * 3


def test_closing_waits_for_what_is_running(path: Path) -> None:
    scorer, begun = Scorer.open(path, threads=1), threading.Event()
    found: list[list[Scores]] = []
    thread = threading.Thread(
        target=lambda: found.append(scorer.score(TEXTS, ASKED, progress=lambda _: begun.set()))
    )  # fmt: skip
    thread.start()
    assert begun.wait(30)
    scorer.close()
    thread.join()
    assert len(found[0]) == len(TEXTS)


def test_closed_twice_it_refuses_politely(path: Path) -> None:
    scorer = Scorer.open(path, threads=1)
    scorer.close()
    scorer.close()
    with pytest.raises(EngineClosed):
        scorer.score(TEXTS, ASKED)


def test_closing_frees_the_memory(tmp_path: Path) -> None:
    path = scorers.make(Variant(n_embd=256, n_layer=4, n_ff=1024)).write(tmp_path / "scorer.gguf")
    size = path.stat().st_size
    # In a process of its own: what other tests have freed would be counted too.
    code = (
        "import sys; from pathlib import Path; from tests.engine.compress.test_scorer import resident_after;"
        " print(*[resident_after(Path(sys.argv[1]), count) for count in (4, 24)])"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    held, grown = map(int, run.stdout.split())
    # Each of the 24 takes more than the file's size; the allocator keeps up to five or so of them for later.
    assert grown - held < 12 * size


def resident_after(path: Path, count: int) -> int:
    """RSS of this process in bytes after `count` scorers were used and closed."""
    for _ in range(count):
        with Scorer.open(path, threads=1) as scorer:
            scorer.score(TEXTS[:3], ASKED)
            assert scorer.nbytes > path.stat().st_size
    return int(psutil.Process().memory_info().rss)


@pytest.mark.parametrize("window", [0, 63])
def test_a_window_without_room_for_a_text_is_refused(window: int, path: Path) -> None:
    with pytest.raises(RequestError, match="holds no text"):
        Scorer.open(path, window=window)


def test_a_window_is_no_longer_than_what_the_model_was_trained_for(tmp_path: Path) -> None:
    path = scorers.make(Variant(n_ctx=300)).write(tmp_path / "short.gguf")
    told: list[float] = []
    with Scorer.open(path, threads=1) as scorer:
        scorer.score(["value = 1\n" * 200], ASKED, progress=told.append)
        assert len(told) >= scorer.tokens / 300


@pytest.mark.parametrize("layers", [-1, 4])
def test_layers_that_it_has_not_are_refused(layers: int, path: Path) -> None:
    with pytest.raises(RequestError, match="of 3"):
        Scorer.open(path, layers=layers)
