"""What a file's header says against its entry, and progress as a user reads it."""

from dataclasses import replace

import pytest

from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.download_progress import DownloadPhase, DownloadProgress, progress_text
from laguna_tui.models.entry import ModelKind
from laguna_tui.models.store import header_mismatches


@pytest.fixture
def nano():
    return load_catalogue()["nano"]


def test_a_file_as_in_the_catalogue_has_no_mismatches(nano):
    assert nano.facts["embedding_length"] == 256
    assert header_mismatches(nano, nano.path) == ()


def test_a_file_of_another_shape_is_reported_with_both_numbers(nano):
    (told,) = header_mismatches(replace(nano, facts={"block_count": 4000}), nano.path)
    assert "its header has laguna.block_count = " in told
    assert "and Laguna Nano has 4000; this is another model" in told


def test_a_fact_that_the_header_lacks_is_reported(nano):
    (told,) = header_mismatches(replace(nano, facts={"no.such.key": 1}), nano.path)
    assert "laguna.no.such.key = None" in told


def test_a_drafter_is_read_as_one(nano):
    drafter = replace(nano, kind=ModelKind.DRAFTER, facts={"general.architecture": "dflash"})
    assert header_mismatches(drafter, nano.drafter) == ()
    assert header_mismatches(drafter, nano.path) != ()


def test_what_is_not_a_model_is_reported_in_the_engines_words(nano, tmp_path):
    path = tmp_path / "page.gguf"
    path.write_text("<html>")
    (told,) = header_mismatches(nano, path)
    assert "is not a GGUF file" in told


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (DownloadProgress(DownloadPhase.METADATA, file="a/b"), "asking the hub about a/b"),
        (
            DownloadProgress(DownloadPhase.TRANSFER, 10_000_000_000, 20_000_000_000, 52_300_000.0, 191.2, "m.gguf"),
            "downloading m.gguf, 10.0 GB of 20.0 GB (50%), 52.3 MB/s, 3 min left",
        ),
        (
            DownloadProgress(
                DownloadPhase.TRANSFER, 5, 10, file="m", note="the connection was cut; trying again in 4 s"
            ),
            "downloading m, 5 B of 10 B (50%), the connection was cut; trying again in 4 s",
        ),
        (DownloadProgress(DownloadPhase.VERIFY, 1_000_000, 2_000_000, file="m"), "checking m, 1.0 MB of 2.0 MB (50%)"),
        (DownloadProgress(DownloadPhase.DONE, 10, 10), "everything is downloaded"),
    ],
)
def test_progress_is_one_line(progress, words):
    assert progress_text(progress) == words
