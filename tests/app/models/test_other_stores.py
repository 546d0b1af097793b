"""Model files of Ollama and LM Studio are found where those programs put them, and nothing else is."""

import json

import pytest

from laguna_tui.base.paths import data_root
from laguna_tui.cli import main
from laguna_tui.models.other_stores import found_files
from laguna_tui.session.model_list import list_others
from tests.app.odd_files import odd

GGUF = b"GGUF" + bytes(60)


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch):
    monkeypatch.delenv("OLLAMA_MODELS", raising=False)
    for name in ("LLAMA_CACHE", "HF_HOME", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)


def put(path, data=GGUF):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def manifest(digest):
    layers = [
        {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:aa"},
        {"mediaType": "application/vnd.ollama.image.model", "digest": digest},
    ]
    return json.dumps({"layers": layers}).encode()


def test_a_model_of_ollama_has_its_name_and_its_blob(tmp_path):
    store = tmp_path / ".ollama" / "models"
    put(store / "manifests" / "registry.ollama.ai" / "library" / "qwen3" / "8b", manifest("sha256:0123abc"))
    blob = put(store / "blobs" / "sha256-0123abc")
    (found,) = found_files(tmp_path)
    assert (found.title, found.owner, found.path, found.size) == ("qwen3:8b", "Ollama", blob, 64)


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b"[" * 100_000, b'{"layers": 3}', manifest("sha256:../../etc"), manifest("sha256:ffff")]
)
def test_a_manifest_without_a_model_file_is_skipped(tmp_path, data):
    put(tmp_path / ".ollama" / "models" / "manifests" / "host" / "library" / "x" / "latest", data)
    assert found_files(tmp_path) == ()


def test_models_of_lm_studio_are_listed_once_and_only_those_that_can_be_opened(tmp_path):
    store = tmp_path / ".lmstudio" / "models" / "owner" / "model"
    for name in ("a.gguf", "b-00001-of-00002.gguf", "b-00002-of-00002.gguf", "mmproj-a.gguf", "notes.txt"):
        put(store / name)
    put(store / "torn.gguf", b"<html>")
    assert [(found.title, found.size) for found in found_files(tmp_path)] == [("a", 64), ("b", 128)]


def test_links_to_folders_are_not_followed(tmp_path):
    put(tmp_path / "elsewhere" / "a.gguf")
    store = tmp_path / ".lmstudio" / "models"
    store.mkdir(parents=True)
    (store / "owner").symlink_to(tmp_path / "elsewhere")
    assert found_files(tmp_path) == ()


@odd
@pytest.mark.timeout(20)
def test_a_blob_that_is_not_a_model_file_is_skipped_at_once(tmp_path, make):
    store = tmp_path / ".ollama" / "models"
    put(store / "manifests" / "host" / "library" / "x" / "latest", manifest("sha256:0123abc"))
    (store / "blobs").mkdir()
    make(store / "blobs" / "sha256-0123abc")
    assert found_files(tmp_path) == ()


def test_files_in_the_hubs_cache_and_the_users_own_folder_are_found_once(tmp_path):
    repository = tmp_path / ".cache" / "huggingface" / "hub" / "models--owner--name"
    blob = put(repository / "blobs" / "0123")
    for commit in ("c1", "c2"):
        (repository / "snapshots" / commit).mkdir(parents=True)
        (repository / "snapshots" / commit / "a.gguf").symlink_to(blob)
    put(tmp_path / "models" / "mine.gguf")
    assert [(found.title, found.owner) for found in found_files(tmp_path)] == [
        ("a", "the hub's cache"),
        ("mine", "~/models"),
    ]


def test_files_that_llama_cpp_downloaded_are_found(tmp_path, monkeypatch):
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path / "cache"))
    put(tmp_path / "cache" / "qwen3.gguf")
    (found,) = found_files(tmp_path)
    assert (found.title, found.owner) == ("qwen3", "llama.cpp")


def test_a_file_with_several_names_is_found_once(tmp_path):
    store = tmp_path / ".ollama" / "models"
    blob = put(store / "blobs" / "sha256-0123abc")
    for tag in ("7b", "latest"):
        put(store / "manifests" / "host" / "library" / "qwen" / tag, manifest("sha256:0123abc"))
    own = tmp_path / "models"
    own.mkdir()
    (own / "hard.gguf").hardlink_to(blob)
    (own / "soft.gguf").symlink_to(blob)
    assert [(found.title, found.owner) for found in found_files(tmp_path)] == [("qwen:7b", "Ollama")]


def test_only_files_that_open_are_listed_and_the_others_are_named_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr("laguna_tui.backends.endpoint.loopback_models", lambda: ())
    store = tmp_path / ".lmstudio" / "models" / "owner" / "model"
    nano = data_root() / "assets/nano"
    for name in ("laguna-nano.gguf", "laguna-nano-dflash.gguf"):
        put(store / name, (nano / name).read_bytes())
    put(store / "torn.gguf")
    put(store / "torn too.gguf")
    found = list_others(tmp_path, offline=False)
    assert [each.title for each in found.choices] == ["laguna-nano"]
    assert sorted(found.left_out.values()) == [("laguna-nano-dflash",), ("torn", "torn too")]
    assert str(tmp_path / ".ollama/models") in found.searched
    assert "Ollama (port 11434)" in found.searched


def test_where_nothing_is_found_the_places_and_what_to_do_are_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("laguna_tui.backends.endpoint.loopback_models", lambda: ())
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main.main(["models", "others"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("Nothing found. Searched: llama-server (port 8080), Ollama (port 11434), ")
    assert said.endswith("Start one of these programs and look again, or open a file: laguna-tui --model FILE.gguf")


def test_offline_no_port_is_asked_and_the_answer_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("laguna_tui.backends.endpoint.loopback_models", lambda: pytest.fail("a port was asked"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main.main(["models", "others", "--offline"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith(f"Nothing found. Searched: {tmp_path}/")
    assert "Not asked, because offline is on: llama-server (port 8080), Ollama (port 11434), " in said
