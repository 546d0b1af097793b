"""Model files of Ollama and LM Studio are found where those programs put them, and nothing else is."""

import json

import pytest

from laguna_tui.models.other_stores import found_files
from tests.app.odd_files import odd

GGUF = b"GGUF" + bytes(60)


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch):
    monkeypatch.delenv("OLLAMA_MODELS", raising=False)


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
    assert [found.title for found in found_files(tmp_path)] == ["a", "b-00001-of-00002"]


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
