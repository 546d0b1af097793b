"""The catalogue that ships, and every mistake one can make in it."""

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.models.catalogue import load_catalogue, match_entry, resolve
from laguna_tui.models.store import Store
from tests.app.odd_files import odd


def test_the_shipped_catalogue_loads_and_its_bundled_file_is_there():
    nano = load_catalogue()["nano"]
    assert nano.path is not None
    assert nano.path.is_file()
    assert nano.thinking is False


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("Laguna-XS-2.1-Q4_K_M.gguf", "xs-2.1"),
        ("laguna-xs2-Q4_K_M.gguf", "xs.2"),
        ("Laguna-XS.2-Q8_0.gguf", "xs.2"),
        ("Laguna-S-2.1.gguf", "s-2.1"),
    ],
)
def test_a_published_file_is_recognised_by_its_name(file, name):
    entry = match_entry(file, load_catalogue())
    assert entry is not None
    assert entry.name == name


def test_a_local_file_follows_the_entry_it_matches(tmp_path):
    file = tmp_path / "Laguna-XS.2-Q4_K_M.gguf"
    file.touch()
    entry = resolve(str(file), load_catalogue())
    assert (entry.path, entry.template, entry.sampling["temperature"]) == (file, "XS_2", 0.7)


def test_a_local_file_has_the_tools_of_the_entry_it_matches(tmp_path):
    for name, tools in (("my-laguna-nano-copy.gguf", "basic"), ("my-laguna-xs-2.1.gguf", "full"), ("any.gguf", "full")):
        (tmp_path / name).touch()
        assert resolve(str(tmp_path / name), load_catalogue()).tools == tools


def test_a_local_file_reads_as_many_turns_as_the_entry_it_matches(tmp_path):
    for name, turns in (("my-laguna-nano-copy.gguf", 2), ("my-laguna-xs-2.1.gguf", None), ("any.gguf", None)):
        (tmp_path / name).touch()
        assert resolve(str(tmp_path / name), load_catalogue()).turns == turns


def test_the_chat_format_of_an_unknown_file_is_read_from_it(tmp_path):
    file = tmp_path / "mine.gguf"
    file.touch()
    entry = resolve(str(file), load_catalogue())
    assert (entry.title, entry.template, entry.context) == ("mine", None, 8192)


def test_an_unknown_name_lists_the_bundled_models():
    with pytest.raises(UserError) as error:
        resolve("nonsense", load_catalogue())
    assert (
        str(error.value) == "--model nonsense: no such file, and no model of that name in the catalogue (bundled: nano)"
    )


def test_a_model_that_is_not_downloaded_is_an_error(tmp_path):
    with pytest.raises(UserError) as error:
        resolve("xs-2.1", load_catalogue(), Store(tmp_path))
    assert str(error.value) == (
        "Laguna XS 2.1 is not on this machine; download it (laguna-tui models download xs-2.1), or pass the path of "
        "its GGUF: --model FILE.gguf"
    )


def test_a_drafter_is_known_only_when_its_file_is_there(tmp_path):
    file = tmp_path / "models.toml"
    file.write_text('[models.mine]\ndrafter="draft.gguf"\n' + GOOD)
    assert load_catalogue(file)["mine"].drafter is None
    (tmp_path / "draft.gguf").touch()
    assert load_catalogue(file)["mine"].drafter == tmp_path / "draft.gguf"


GOOD = 'title="T"\nsummary="s"\nmatch=[]\ntemplate="XS_2"\nthinking=true\ncontext=2048\nsampling={}\n'


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (('template="XS_2"', 'template="CHATML"'), "it must be one of XS_2"),
        (("sampling={}", "sampling={heat=1}"), "unknown keys: heat"),
        (("thinking=true", 'thinking="yes"'), "thinking = 'yes': it must be true or false"),
        (('title="T"\n', ""), "title is missing"),
        (('title="T"\n', 'title="T"\ndrafter=1\n'), "drafter = 1: it must be text"),
        (('title="T"\n', 'title="T"\ntools="all"\n'), "tools = 'all': it must be one of basic, full, chat"),
        (('title="T"\n', 'title="T"\nkind="drafter"\ntools="full"\n'), "tools is for models that answer"),
        (('title="T"\n', 'title="T"\nkind="drafter"\nturns=2\n'), "turns is for models that answer"),
        (('title="T"\n', 'title="T"\nturns=0\n'), "turns = 0: it must be 1 or more"),
    ],
)
def test_a_wrong_entry_names_itself_and_the_key(tmp_path, change, part):
    file = tmp_path / "models.toml"
    file.write_text("[models.mine]\n" + GOOD.replace(*change))
    with pytest.raises(UserError, match=r"\[models.mine\]") as error:
        load_catalogue(file)
    assert part in str(error.value)


@pytest.mark.timeout(30)
@odd
def test_a_users_catalogue_that_is_not_a_small_file_is_refused_at_once(tmp_path, make):
    make(tmp_path / "models.toml")
    with pytest.raises(UserError, match=r"models\.toml: cannot be read as a model catalogue \(.*\); correct the file"):
        load_catalogue(own=tmp_path / "models.toml")


def test_a_user_without_a_catalogue_has_the_one_that_ships(tmp_path):
    (tmp_path / "dangling").symlink_to("nowhere")
    shipped = load_catalogue(own=tmp_path / "models.toml")
    assert shipped == load_catalogue(own=tmp_path / "dangling")
    assert "nano" in shipped
