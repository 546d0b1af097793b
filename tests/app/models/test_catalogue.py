"""The catalogue that ships, and every mistake one can make in it."""

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.models.catalogue import load_catalogue, match_entry, named_entry, resolve
from laguna_tui.models.store import Store
from tests.app.odd_files import odd
from tests.engine import generic, tiny

_INT32 = 5


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


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (
            "nonsense",
            "there is no model nonsense; the catalogue is listed by: laguna-tui models list, and what other programs "
            "have here by: laguna-tui models others",
        ),
        (
            "qwen-3.5-9b",
            "there is no model qwen-3.5-9b; did you mean qwen3.5-9b? the catalogue is listed by: laguna-tui models "
            "list, and what other programs have here by: laguna-tui models others",
        ),
        ("models/nowhere", "models/nowhere: there is no such file; check the path"),
        ("nowhere.gguf", "nowhere.gguf: there is no such file; check the path"),
    ],
)
def test_an_unknown_name_or_file_is_refused(wanted, sentence):
    with pytest.raises(UserError) as error:
        resolve(wanted, load_catalogue())
    assert str(error.value) == sentence


def test_a_command_for_names_refuses_a_file(tmp_path):
    file = tmp_path / "my own.gguf"
    file.touch()
    with pytest.raises(UserError) as error:
        named_entry(str(file), load_catalogue())
    assert str(error.value) == (
        f"{file} is a file, and this command takes names of the catalogue; to see what it is and whether it runs here: "
        f"laguna-tui fit '{file}'"
    )


def test_a_file_says_how_it_is_sampled_and_its_licence(tmp_path):
    file = generic.model("qwen2").set("general.license", "apache-2.0").set("general.sampling.top_k", -1, kind=_INT32)
    for key, value in {"temp": 0.6, "top_p": 7.0, "penalty_repeat": 1.05}.items():
        file.set(f"general.sampling.{key}", value)
    entry = resolve(str(file.write(tmp_path / "mine.gguf")), load_catalogue())
    # One that is not possible is left out.
    assert entry.sampling == {"temperature": 0.6, "top_k": 0, "top_p": 0.95, "min_p": 0.05, "repeat_penalty": 1.05}
    assert entry.license == "apache-2.0"


def test_a_file_that_does_not_say_how_it_is_sampled_is_sampled_as_by_llama_cpp_and_a_laguna_as_a_laguna(tmp_path):
    catalogue = load_catalogue()
    other = resolve(str(generic.model("qwen2").write(tmp_path / "mine.gguf")), catalogue)
    assert other.sampling == {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
    laguna = resolve(str(tiny.laguna().write(tmp_path / "tuned.gguf")), catalogue)
    assert laguna.sampling == catalogue["xs-2.1"].sampling


def test_a_blob_of_ollama_has_the_name_in_its_header_or_is_the_file_that_the_catalogue_pins(tmp_path):
    catalogue = load_catalogue()
    named = generic.model("qwen2").set("general.name", "My Qwen").write(tmp_path / f"sha256-{'0' * 64}")
    assert resolve(str(named), catalogue).title == "My Qwen"
    pinned = catalogue["ministral-3-14b"]
    blob = tmp_path / f"sha256-{pinned.source.sha256}"
    blob.touch()
    assert resolve(str(blob), catalogue).title == pinned.title


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
