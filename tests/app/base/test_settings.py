"""The user's settings: defaults, file, command line, and a sentence for everything that is wrong."""

import pytest

from laguna_engine import config
from laguna_engine.draft import base
from laguna_tui.base import settings
from laguna_tui.base.errors import UserError
from laguna_tui.base.permission_request import Mode
from laguna_tui.base.settings import MODES, THEMES, Settings, load_settings
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.themes import DARK, LIGHT
from laguna_tui.tui.tui_settings import AUTO_THEME, TuiSettings
from tests.app.odd_files import odd
from tests.tui.scripted import PlayedSession


def test_without_a_file_the_defaults_hold(tmp_path):
    assert load_settings(tmp_path / "config.toml") == Settings()


def test_a_file_sets_what_it_names_and_flags_win_over_it(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text('model = "xs-2.1"\ncontext = 32768\nthinking = false\n')
    settings = load_settings(file).merged({"context": 16384, "kv": None})
    assert (settings.model, settings.context, settings.thinking, settings.kv) == ("xs-2.1", 16384, False, None)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("contxt = 5", "unknown setting contxt"),
        ("seed = -1", "seed = -1; it must be between 0 and 4294967294"),
        ("contxt = 5", "contxt (did you mean context?); known are adapter, constrain, context, "),
        ("thinking = 1", "thinking = 1 is not true or false"),
        ("mode = true", "mode = True is not a text; it must be one of ask, accept-edits, plan, auto"),
        ("context = 12", "at least 1024"),
        ("context = 0", "at least 1024"),
        ('context = "big"', "is not a whole number"),
        ("threads = true", "threads = True is not a whole number"),
        ("threads = 999999", "threads = 999999; it must be between 0 (one per core) and "),
        ("theme = 'foo'", "theme = 'foo'; it must be one of auto, laguna-dark, laguna-light, "),
        ('kv = "q2_k"', "one of f16, q8_0, q4_0"),
        ('speculation = "on"', "one of fast, strict, off"),
        ('mode = "yes"', "one of ask, accept-edits, plan, auto"),
        ("mode = true", "is not a text"),
        ("draft_length = -1", "between 0 and 16 tokens"),
        ("draft_length = 17", "between 0 and 16 tokens"),
        ("drafter = false", "is not a text"),
        ("top_p = 0", "above 0, at most 1"),
        ("top_p = nan", "above 0, at most 1"),
        ("repeat_penalty = 0", "1 (off) or more"),
        ("this is not toml", "correct the file"),
    ],
)
def test_a_mistake_is_named_with_the_file_and_the_rule(tmp_path, text, part):
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=r"config\.toml") as error:
        load_settings(file)
    assert part in str(error.value)


def test_a_file_that_is_not_utf8_is_refused_with_a_sentence(tmp_path):
    file = tmp_path / "config.toml"
    file.write_bytes(b'model = "\xff\xfe"')
    with pytest.raises(UserError) as error:
        load_settings(file)
    assert str(error.value) == (
        f"{file}: 'utf-8' codec can't decode byte 0xff in position 9: invalid start byte; correct the file or "
        "move it away"
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"min_p": 1.5}, "--min-p 1.5; it must be between 0 and 1"),
        ({"threads": 999_999}, "--threads 999999; it must be between 0 (one per core) and "),
        ({"theme": "foo"}, "--theme foo; it must be one of auto, laguna-dark, laguna-light, "),
    ],
)
def test_a_wrong_flag_is_named_as_it_was_given(tmp_path, changes, sentence):
    file = tmp_path / "config.toml"
    file.write_text('theme = "nord"\nthreads = 1\nmin_p = 0.5\n')
    with pytest.raises(UserError) as error:
        load_settings(file).merged(changes)
    assert str(error.value).startswith(sentence)


def test_a_setting_knows_whether_a_flag_or_the_file_fixed_it(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text("context = 65536\ngpu_layers = 5\n")
    settings = load_settings(file).merged({"context": 32768})
    assert settings.given("context") == "--context 32768"
    assert settings.given("gpu_layers") == f"{file}: gpu_layers = 5"


def test_every_theme_that_the_screen_has_may_be_chosen(tmp_path):
    themes = {*LagunaApp(PlayedSession(), TuiSettings()).available_themes, DARK.name, LIGHT.name}
    assert set(THEMES) == {AUTO_THEME, DARK.name, LIGHT.name}
    for name in themes:
        assert Settings().merged({"theme": name}).theme == name


def test_the_longest_draft_and_the_largest_seed_are_the_engines():
    assert (settings.MAX_DRAFT, settings.MAX_SEED) == (base.MAX_DRAFT, config.MAX_SEED)


def test_the_modes_are_those_that_there_are():
    assert list(MODES) == [mode.value for mode in Mode]


@pytest.mark.timeout(30)
@odd
def test_what_is_not_a_small_file_is_refused_at_once(tmp_path, make):
    make(tmp_path / "config.toml")
    with pytest.raises(UserError, match=r"config\.toml: cannot be read \(.*\); correct the file or move it away"):
        load_settings(tmp_path / "config.toml")


@pytest.mark.parametrize("text", ["context = " + "9" * 5000, "model = " + "[" * 100_000])
def test_toml_that_breaks_a_reader_is_a_sentence(tmp_path, text):
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(UserError, match="correct the file or move it away"):
        load_settings(tmp_path / "config.toml")
