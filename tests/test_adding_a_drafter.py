"""The drafter of the engine's README, word for word: all that has to be written to add one."""

import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from laguna_engine import loader
from laguna_engine.config import PLAIN
from laguna_engine.draft.base import DrafterEntry, DrafterPlan
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.events import DrafterFailed, Round, Source, Token
from laguna_engine.speculate.metrics import SpeculationMetrics
from laguna_tui.base.events import DraftRound, TextDelta
from laguna_tui.cli.main import main
from laguna_tui.headless.json_output import stream_writer
from laguna_tui.tui.drafter_colours import bar_style, colour_of, text_style
from laguna_tui.tui.speed.speed_panel import speed_column, speed_rows
from laguna_tui.tui.speed.speed_stats import SpeedTracker
from tests.bench import obedient, speculation
from tests.engine import tiny
from tests.engine.runs import Run, gather
from tests.tui.pilot import ask, running, screen, transcript
from tests.tui.scripted import PlayedSession, answer

README = Path(__file__).parents[1] / "engine/README.md"
REPEAT = Source("repeat")
REPEATED = Drafting(sources=frozenset({REPEAT}), length=4)
PROMPT = list(range(40, 60))


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> DrafterEntry:
    """The README's drafter, in the registry."""
    section = README.read_text(encoding="utf-8").partition("## Adding a drafter")[2]
    example = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert example is not None
    defined: dict[str, DrafterEntry] = {}
    exec(compile(example[1], "README.md", "exec"), defined)
    monkeypatch.setattr(loader, "DRAFTERS", [*loader.DRAFTERS, defined["ENTRY"]])
    return defined["ENTRY"]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> EngineOptions:
    """A model that says the same token again and again."""
    size = obedient.Size(n_layer=2, n_embd=128, heads=2, kv_heads=2, n_ff=128, n_vocab=512)
    return EngineOptions(obedient.target(tmp_path_factory.mktemp("model") / "model.gguf", size), n_ctx=512, threads=1)


@pytest.fixture
def engine(entry: DrafterEntry, options: EngineOptions) -> Iterator[Engine]:
    with Engine.open(options) as opened:
        yield opened


def run(engine: Engine, drafting: Drafting = REPEATED, count: int = 100) -> Run:
    return gather(engine.generate(Request(PROMPT, max_tokens=count, drafting=drafting)))


def drafted(found: Run) -> list[Round]:
    return [event for event in found.events if isinstance(event, Round) and event.drafter == REPEAT]


def test_it_drafts_and_is_accepted_and_the_answer_is_the_plain_one(engine: Engine) -> None:
    found = run(engine)
    assert found.tokens == run(engine, PLAIN).tokens
    assert sum(spun.accepted for spun in drafted(found)) > 40
    assert {event.source for event in found.events if isinstance(event, Token)} == {REPEAT, Source.TARGET}


def test_its_statistics_have_its_kinds_name_and_begin_with_its_prior(engine: Engine) -> None:
    assert "repeat" not in engine.economy().get("kinds", {})
    speculator = engine._speculator
    assert speculator is not None
    offer = speculator._drafters[REPEAT].offer() if run(engine, count=2) else None
    assert offer is not None and offer.kind.prior == 0.2
    run(engine)
    kinds = json.loads(json.dumps(engine.economy()))["kinds"]
    assert kinds["repeat"]["acceptance"][0][0] > 0.9


def test_metrics_know_it_by_its_own_label(engine: Engine) -> None:
    tally = SpeculationMetrics()
    tally.extend(run(engine).events)
    summary = tally.summary()
    assert summary.drafters[REPEAT].acceptance == 1.0
    assert {source.label for source in summary.shares} == {"repeating", "target"}


def test_the_speed_panel_shows_its_label_in_its_colour(engine: Engine) -> None:
    tracker = SpeedTracker()
    for spun in run(engine).events:
        if isinstance(spun, Round):
            tracker.update(DraftRound(spun, "stood", "instead"))
    speed = tracker.speed()
    assert any(("▇ ", "$ink-rose") in row for row in speed_rows(speed, 200))
    column = speed_column(speed, tuple(tracker.rounds), 60, 60)
    assert any(row[0][0].startswith("repeat") and row[1][1] == "$ink-rose" for row in column if len(row) > 1)


async def test_its_words_are_tinted_and_the_legend_names_it(engine: Engine) -> None:
    spun = max(drafted(run(engine)), key=lambda each: each.accepted)
    assert spun.drafter is not None
    script = [TextDelta("again and again", spun.drafter), DraftRound(spun, "again and again", ".")]
    async with running(PlayedSession(answer("", before=script))) as (app, pilot):
        await ask(app, pilot, "q")
        await pilot.press("f2", "f3")
        await pilot.pause()
        lines = [app.document.line(*app.document.at(row)) for row in range(app.document.height)]
        tinted = "".join(part.text for line in lines for part in line.runs if "by-rose" in part.tone)
        assert tinted == "again and again"
        assert " repeating " in screen(app)
        assert "again and again" in transcript(app)


def test_bench_measures_it_beside_the_others_under_its_label(
    entry: DrafterEntry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tiny.laguna(tiny.Shape(n_ctx=16384)).write(tmp_path / "target.gguf")
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("where is add defined?\n")
    model = ["--model", str(target), "--drafter", "none", "--prompts", str(prompts)]
    short = ["--threads", "1", "--context", "8192", "--tokens", "12", "--repeats", "1", "--quiet"]
    assert main(["bench", "ab", *model, *short]) == 0
    assert re.findall(r"^\| (\w+)", capsys.readouterr().out, re.MULTILINE) == ["plain", "repeating", "copy", "both"]
    assert speculation.main(["profile", "--use", "repeat", *model, *short]) == 0
    assert "Who drafts: repeating." in capsys.readouterr().out


def failing(*_: object) -> None:
    raise ZeroDivisionError("an off day")


@pytest.mark.parametrize(
    "hook", ["extend", "offer", "draft", "begin", "truncate", "make_room", "observe", "after_round"]
)
def test_if_it_fails_it_is_switched_off_and_closed_and_the_answer_goes_on(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, hook: str
) -> None:
    expected = run(engine, PLAIN).tokens
    assert engine._speculator is not None
    drafter, closed = engine._speculator._drafters[REPEAT], list[bool]()
    monkeypatch.setattr(type(drafter), hook, failing)
    monkeypatch.setattr(drafter, "close", lambda: closed.append(True), raising=False)
    found = run(engine)
    assert found.tokens == expected
    (failure,) = (event for event in found.events if isinstance(event, DrafterFailed))
    assert failure.sentence.startswith("Repeating failed (ZeroDivisionError - an off day)")
    assert closed == [True]
    assert not drafted(run(engine))


@pytest.mark.parametrize("opens", [failing, lambda _: None])
def test_if_it_cannot_be_opened_the_model_is_opened_without_it(
    monkeypatch: pytest.MonkeyPatch, options: EngineOptions, opens: Callable[[object], None]
) -> None:
    entry = DrafterEntry(Source("repeat", title="Repeating"), lambda options, target: DrafterPlan(opens))
    monkeypatch.setattr(loader, "DRAFTERS", [*loader.DRAFTERS, entry])
    with Engine.open(options) as engine:
        warned = any(text.startswith("Repeating is not used: ZeroDivisionError") for text in engine.info.warnings)
        assert warned is (opens is failing)
        assert not drafted(run(engine))


def test_a_drafter_that_nobody_knows_has_a_colour_and_a_name_everywhere() -> None:
    source = Source("mystery", colour="mauve")
    assert (colour_of(source), text_style(source), bar_style(source)) == (
        "rose",
        "$foreground on $tint-rose",
        "$ink-rose",
    )
    out = io.StringIO()
    show = stream_writer(out)
    for event in (TextDelta("a", source), DrafterFailed(source, "broke"), DraftRound(round_of(source), "", "")):
        show(event)
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line.get("source") or line["drafter"] for line in told] == ["mystery"] * 3


def round_of(source: Source) -> Round:
    return Round(source, 4, 2, 0.0, 0.0, 0.0, 0.0, "", "")
