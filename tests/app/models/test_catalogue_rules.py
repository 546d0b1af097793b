"""Every mistake in a catalogue is a sentence that names its entry and its key; the user's own file adds and changes."""

import json
import re
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laguna_engine.fit.known_models import known_model
from laguna_tui.base.errors import UserError
from laguna_tui.models.catalogue import load_catalogue, resolve
from laguna_tui.models.catalogue_rules import RULES, problems, safe_path
from laguna_tui.models.entry import HubSource, ModelKind, companions

TARGET = {
    "title": "T",
    "summary": "s",
    "match": [],
    "template": "XS_2",
    "thinking": True,
    "context": 2048,
    "sampling": {"temperature": 1.0},
}
REMOTE = {**TARGET, "repository": "poolside/Laguna", "file": "laguna.gguf", "size": 10, "sha256": "ab" * 32}
DRAFTER = {"kind": "drafter", "title": "D", "summary": "s", "repository": "a/b", "files": ["*.safetensors"]}


@pytest.mark.parametrize("table", [TARGET, REMOTE, DRAFTER, {**DRAFTER, "convert": True, "belongs": ["t"]}])
def test_a_right_entry_has_no_problems(table):
    assert list(problems("t", table)) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"colour": "red"}, "unknown key colour"),
        ({"kind": "model"}, "kind = 'model': it must be one of target, remote, drafter, scorer"),
        ({"repository": "laguna"}, "repository = 'laguna': it must be OWNER/NAME"),
        ({"repository": "../../etc"}, "repository = '../../etc'"),
        ({"file": "../secret"}, "must be a path inside the repository"),
        ({"file": None, "files": ["/etc/passwd"]}, "files = ['/etc/passwd']"),
        ({"file": None, "files": []}, "files = []"),
        ({"file": None, "sha256": None}, "names no file in it"),
        ({"files": ["a"]}, "has both file and files"),
        ({"repository": None}, "size has no effect without a repository"),
        ({"sha256": "AB" * 32}, "must be 64 lower-case hex digits"),
        ({"sha256": "ab"}, "must be 64 lower-case hex digits"),
        ({"size": 0}, "size = 0: it must be bytes, above 0"),
        ({"size": True}, "size = True: it must be a whole number"),
        ({"context": 10}, "context = 10: it must be tokens, 1024 or more"),
        ({"context_max": 1024}, "the model was trained for context_max = 1024"),
        ({"sampling": {"temperature": "hot"}}, "sampling: temperature = 'hot': it must be between 0 and 5"),
        ({"sampling": {"top_p": 0}}, "sampling: top_p = 0: it must be above 0"),
        ({"sampling": {"top_k": True}}, "sampling: top_k = True"),
        ({"match": ["XS"]}, "match = ['XS']: it must be a list of lower-case parts"),
        ({"facts": {"layers": 1.5}}, "facts = {'layers': 1.5}"),
        ({"file": "a-00001-of-00002.gguf"}, "sha256 is for a single file; this model is in parts"),
        ({"convert": True}, "convert = true is for drafters"),
        ({"belongs": ["xs-2.1"]}, "belongs is for drafters and scorers"),
        ({"trained_for": "a/b"}, "trained_for is for drafters; this is a target"),
        ({"weights": "a/b@main"}, "weights = 'a/b@main': it must be OWNER/NAME, or OWNER/NAME@COMMIT"),
        ({"design": "huge"}, "design = 'huge': it must be one of dense, mixture of experts, hybrid"),
        ({"shape": {"tied": True}}, "shape = {'tied': True}: it must be keys with a whole number"),
        ({"title": ""}, "title = ''"),
        ({"thinking": None}, "thinking is missing"),
    ],
)
def test_each_mistake_is_one_sentence(change, sentence):
    table = {key: value for key, value in {**REMOTE, **change}.items() if value is not None}
    found = list(problems("t", table))
    assert any(sentence in problem for problem in found), found


def test_all_mistakes_are_reported_at_once(tmp_path):
    file = tmp_path / "models.toml"
    file.write_text('[models.a]\ntitle = 1\n[models.B]\n[models.c]\ntitle = "C"\n')
    with pytest.raises(UserError) as error:
        load_catalogue(file)
    lines = str(error.value).splitlines()
    assert all(line.startswith(f"{file}: [models.") for line in lines)
    assert {line.split("]")[0].split("[")[1] for line in lines} == {"models.a", "models.B", "models.c"}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=10), st.dictionaries(st.sampled_from(sorted(RULES)) | st.text(max_size=8), values) | values)
def test_any_entry_gives_sentences_only(name, table):
    assert all(isinstance(problem, str) and problem for problem in problems(name, table))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(RULES)), values)
def test_a_wrong_value_is_reported_with_its_key(key, value):
    found = list(problems("t", {**REMOTE, key: value}))
    assert all(key in problem or "files" in problem or "drafter" in problem for problem in found), found


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30))
def test_a_safe_path_stays_inside_its_folder(name):
    if safe_path(name):
        assert not name.startswith("/")
        assert ".." not in name.split("/")
        assert "\0" not in name


def own(tmp_path, text: str):
    file = tmp_path / "models.toml"
    file.write_text(text)
    return file


def test_the_users_own_file_changes_single_keys(tmp_path):
    file = own(tmp_path, '[models."xs-2.1"]\ncontext = 131072\n')
    entry = load_catalogue(own=file)["xs-2.1"]
    assert entry.context == 131072
    assert entry.title == "Laguna XS 2.1"
    assert entry.source.size == 20274300032


def test_another_file_does_not_inherit_the_hash_of_the_one_it_replaces(tmp_path):
    file = own(tmp_path, '[models."xs-2.1"]\nrepository = "me/mine"\nfile = "mine.gguf"\n')
    source = load_catalogue(own=file)["xs-2.1"].source
    assert (source.repository, source.files, source.sha256, source.size) == ("me/mine", ("mine.gguf",), None, None)


PINNED = "1a37c0a5fb8c7a18e6106decb6be6327d1b63fa6"


@pytest.mark.parametrize(
    ("change", "revision", "sha256"),
    [('revision = "v2"', "v2", None), (f'sha256 = "{"ab" * 32}"', PINNED, "ab" * 32), ("size = 7", PINNED, None)],
)
def test_another_version_of_a_file_stays_in_its_place_and_inherits_no_hash(tmp_path, change, revision, sha256):
    source = load_catalogue(own=own(tmp_path, f'[models."xs-2.1"]\n{change}\n'))["xs-2.1"].source
    assert (source.repository, source.files) == ("poolside/Laguna-XS-2.1-GGUF", ("Laguna-XS-2.1-Q4_K_M.gguf",))
    assert (source.revision, source.sha256) == (revision, sha256)


def test_a_new_entry_names_a_file_beside_the_users_own_catalogue(tmp_path):
    (tmp_path / "mine.gguf").touch()
    body = "\n".join(f"{key} = {json.dumps(value)}" for key, value in TARGET.items() if key != "sampling")
    file = own(tmp_path, f'[models.mine]\nfile = "mine.gguf"\nsampling = {{}}\n{body}\n')
    assert tomllib.loads(file.read_text())
    catalogue = load_catalogue(own=file)
    assert resolve("mine", catalogue).path == tmp_path / "mine.gguf"
    assert "nano" in catalogue


def test_a_mistake_in_the_users_own_file_names_that_file(tmp_path):
    file = own(tmp_path, '[models."xs-2.1"]\ncontext = "much"\n')
    with pytest.raises(UserError) as error:
        load_catalogue(own=file)
    assert str(error.value) == f"{file}: [models.xs-2.1] context = 'much': it must be a whole number"


def test_what_is_not_a_catalogue_is_an_error(tmp_path):
    for text in ("models = 1", 'title = "x"', "= =", "\0"):
        with pytest.raises(UserError, match="correct the file or move it away"):
            load_catalogue(own=own(tmp_path, text))


def test_an_entry_that_is_not_a_table_is_a_mistake(tmp_path):
    with pytest.raises(UserError) as error:
        load_catalogue(own=own(tmp_path, "[models]\nnano = 0\n"))
    assert str(error.value) == f"{tmp_path}/models.toml: [models.nano] must be a table, not 0"


@pytest.mark.parametrize("name", ["xs-9", "xs.2-dflash"])
def test_a_companion_of_what_is_not_a_target_is_a_mistake(tmp_path, name):
    file = own(tmp_path, f'[models."qwen3-0.6b"]\nbelongs = ["{name}"]\n')
    with pytest.raises(UserError, match=f"belongs to '{name}', which is not a target"):
        load_catalogue(own=file)


def test_the_shipped_catalogue_says_what_goes_with_a_target():
    catalogue = load_catalogue()
    drafters = [entry.name for entry in companions(catalogue["xs-2.1"], catalogue, ModelKind.DRAFTER)]
    assert drafters[0] == "xs-2.1-dflash"
    assert [entry.name for entry in companions(catalogue["xs.2"], catalogue, ModelKind.SCORER)] == ["qwen3-0.6b"]


def test_every_quantization_has_the_licence_of_its_model():
    licences = {entry.name: entry.license for entry in load_catalogue().values() if entry.kind is ModelKind.TARGET}
    assert {name: licence for name, licence in licences.items() if "2.1" in name} == {
        "xs-2.1": "OpenMDW-1.1",
        "xs-2.1-mix": "OpenMDW-1.1",
        "s-2.1": "OpenMDW-1.1",
    }
    assert (licences["xs.2"], licences["nano"]) == ("Apache-2.0", "Apache-2.0")


@pytest.mark.parametrize("target", ["xs-2.1", "xs-2.1-mix"])
def test_a_target_has_the_drafter_made_for_int4_as_its_last_choice(target):
    catalogue = load_catalogue()
    first, *_, last = companions(catalogue[target], catalogue, ModelKind.DRAFTER)
    assert (first.name, last.name) == ("xs-2.1-dflash", "xs-2.1-dflash-int4")
    assert "OpenMDW-1.1" in last.license
    assert "is not known; compare both" in last.defects[0]


def test_a_drafter_is_not_a_chat_model():
    with pytest.raises(UserError) as error:
        resolve("xs-2.1-dflash", load_catalogue())
    assert str(error.value) == ("DFlash for Laguna XS 2.1 is a drafter, not a chat model; see: laguna-tui models list")


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["a.safetensors", "config.json", "README.md"], ("a.safetensors", "config.json")),
        (["1.safetensors", "2.safetensors", "config.json"], ("1.safetensors", "2.safetensors", "config.json")),
        (["fp8/a.safetensors", "config.json"], None),
        (["a.safetensors"], None),
    ],
)
def test_patterns_choose_files_of_one_folder_and_each_must_match(names, chosen):
    source = load_catalogue()["xs-2.1-dflash"].source
    assert source.select(names) == chosen


def test_a_single_pattern_that_matches_several_files_chooses_none():
    source = load_catalogue()["qwen3-0.6b"].source
    assert source.select(["Qwen3-0.6B-BF16.gguf", "Qwen3-0.6B-Q8_0.gguf"]) == ("Qwen3-0.6B-BF16.gguf",)
    assert source.select(["a-BF16.gguf", "b-BF16.gguf"]) is None


@pytest.mark.parametrize("pattern", ["a-00001-of-00002.gguf", "a-*.gguf", "a-00002-of-*.gguf"])
def test_a_part_stands_for_its_whole_model(pattern):
    source = HubSource("a/b", (pattern,))
    parts = ("a-00001-of-00002.gguf", "a-00002-of-00002.gguf")
    assert source.select([*reversed(parts), "README.md"]) == parts
    assert source.select(parts[1:]) is None


def test_a_pinned_file_has_its_commit_size_and_hash():
    for entry in load_catalogue().values():
        source = entry.source
        if source is not None and source.pinned:
            assert re.fullmatch("[0-9a-f]{40}", source.revision), entry.name
            assert source.size, entry.name


def test_the_design_of_a_model_is_that_of_its_layers():
    for entry in load_catalogue().values():
        if entry.kind is ModelKind.TARGET and entry.facts and entry.design:
            hybrid = "ssm.state_size" in {**entry.facts, **entry.shape}
            experts = "expert_count" in entry.facts or entry.name == "nano"
            assert entry.design == ("hybrid" if hybrid else "mixture of experts" if experts else "dense"), entry.name


def test_every_model_for_download_but_the_largest_can_be_planned_before_it():
    catalogue = load_catalogue()
    for entry in catalogue.values():
        if entry.kind is ModelKind.TARGET and entry.source is not None and entry.name != "s-2.1":
            shape = known_model(entry.title, {**entry.facts, **entry.shape}, entry.context_max, entry.size)
            assert shape is not None, entry.name
            assert entry.size is None or abs(shape.size - entry.size) < 0.01 * entry.size, entry.name
