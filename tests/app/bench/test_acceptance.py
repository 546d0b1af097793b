"""What drafters are worth to a model is compared on the same answers, drafting as much as they can."""

from pathlib import Path

import pytest

from laguna_engine.draft.dflash import DFlash
from laguna_engine.engine import Engine
from laguna_engine.events import Round
from laguna_engine.speculate.metrics import DrafterRecord, SpeculationMetrics
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.bench import acceptance
from laguna_tui.bench.acceptance import measure, table
from laguna_tui.cli.main import main
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.session import opening
from laguna_tui.session.session import Session
from tests.engine import drafters, tiny


def record(*rounds: tuple[int, int]) -> DrafterRecord:
    """From pairs of drafted and accepted."""
    tally = SpeculationMetrics()
    tally.extend(Round(DFlash.source, drafted, accepted, 0.0, 0.0, 0.0, 0.0, "", "") for drafted, accepted in rounds)
    return tally.summary().together


def test_the_table_has_a_row_for_each_drafter():
    lines = table([("big.gguf", record((2, 2), (2, 1))), ("b.gguf", record((2, 0), (2, 1)))])
    assert [line.split() for line in lines[1:]] == [
        ["big.gguf", "75.0%", "2.50", "100%", "50%"],
        ["b.gguf", "25.0%", "1.50", "50%", "0%"],
    ]


def test_every_round_drafts_as_much_as_the_drafter_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(acceptance, "ANSWER_TOKENS", 20)
    monkeypatch.setattr(acceptance, "QUESTIONS", ("who?",))
    model = tiny.laguna(tiny.Shape(n_ctx=8192)).write(tmp_path / "model.gguf")
    variant = drafters.Variant(block=4, own_embedding=False, own_head=False)
    found = measure(model, drafters.make(variant).write(tmp_path / "drafter.gguf"), Settings(threads=1))
    # The last rounds before the limit have no room for a whole draft.
    assert len(found.proposed) == 3
    assert found.proposed[0] == found.rounds >= 15
    assert found.drafted >= 3 * found.rounds - 3


def test_a_model_that_cannot_hold_a_question_is_a_sentence(tmp_path: Path):
    model = tiny.laguna(tiny.Shape(n_ctx=256)).write(tmp_path / "model.gguf")
    drafter = drafters.make(drafters.Variant()).write(tmp_path / "drafter.gguf")
    with pytest.raises(UserError) as error:
        measure(model, drafter, Settings(threads=1))
    assert str(error.value) == f"{drafter}: drafted nothing for {model}; its context is too small for the questions"


def test_quantizing_the_bundled_drafter_shows_what_it_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    nano = load_catalogue()["nano"]
    monkeypatch.setattr(acceptance, "ANSWER_TOKENS", 32)
    (tmp_path / "laguna-tui").mkdir()
    (tmp_path / "laguna-tui" / "config.toml").write_text("threads = 1\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    target = tmp_path / "small.gguf"
    assert main(["quantize-drafter", str(nano.drafter), str(target), "--target", str(nano.path)]) == 0
    before, after = (line.split() for line in capsys.readouterr().out.splitlines()[-2:])
    assert (before[0], after[0]) == (nano.drafter.name, "small.gguf")
    accepted = [float(row[1].rstrip("%")) for row in (before, after)]
    assert accepted[0] > 30
    assert abs(accepted[0] - accepted[1]) < 10


def test_a_drafter_for_another_model_is_refused_before_anything_is_written(tmp_path: Path, capsys):
    model = tiny.laguna().write(tmp_path / "model.gguf")
    source = drafters.make(drafters.Variant(n_embd=128)).write(tmp_path / "drafter.gguf")
    command = ["quantize-drafter", str(source), str(tmp_path / "small.gguf"), "--target", str(model)]
    assert main(command) == 2
    assert "choose the drafter that was made for this model" in capsys.readouterr().err
    assert not (tmp_path / "small.gguf").exists()


@pytest.mark.parametrize(
    ("file", "chosen", "thinks"),
    [
        ("Laguna-XS-2.1-Q4_K_M.gguf", None, True),
        ("Laguna-XS-2.1-Q4_K_M.gguf", False, False),
        ("my-laguna-nano.gguf", None, False),
        ("my-laguna-nano.gguf", True, True),
    ],
)
def test_drafters_are_compared_on_answers_as_a_session_gives_them(tmp_path, monkeypatch, file, chosen, thinks):
    seen = []
    monkeypatch.setattr(acceptance, "ANSWER_TOKENS", 4)
    monkeypatch.setattr(acceptance, "QUESTIONS", ("who?",))
    monkeypatch.setattr(
        acceptance,
        "_prompts",
        lambda engine, entry, thinking, _of=acceptance._prompts: (
            seen.append(thinking) or _of(engine, entry, thinking=thinking)
        ),
    )
    model = tiny.laguna(tiny.Shape(n_ctx=8192)).write(tmp_path / file)
    variant = drafters.Variant(block=4, own_embedding=False, own_head=False)
    measure(model, drafters.make(variant).write(tmp_path / "drafter.gguf"), Settings(threads=1, thinking=chosen))
    assert seen == [thinks]


@pytest.mark.parametrize("file", ["Laguna-XS-2.1-Q4_K_M.gguf", "my-laguna-nano.gguf"])
def test_drafters_are_compared_on_the_prompt_and_the_tools_of_the_model(tmp_path, monkeypatch, file):
    """The same prompt that a session gives to this model, up to the question."""
    seen = []

    class Recorded(Engine):
        def generate(self, request):
            seen.append(self.vocab.detokenize(list(request.tokens)).decode())
            return super().generate(request)

    monkeypatch.setattr("laguna_engine.engine.Engine", Recorded)
    monkeypatch.setattr(opening, "Engine", Recorded)
    monkeypatch.setattr(acceptance, "ANSWER_TOKENS", 4)
    monkeypatch.setattr(acceptance, "QUESTIONS", ("who?",))
    model = tiny.laguna(tiny.Shape(n_ctx=8192)).write(tmp_path / file)
    variant = drafters.Variant(block=4, own_embedding=False, own_head=False)
    settings = Settings(model=str(model), threads=1, thinking=False, max_tokens=1, context=8192)
    measure(model, drafters.make(variant).write(tmp_path / "drafter.gguf"), settings)
    session = Session(settings, tmp_path)
    session.open(lambda progress: None)
    list(session.chat.ask("who?"))
    session.close()
    compared, asked = (prompt.partition("</system>")[0] for prompt in seen[:2])
    assert compared == asked
