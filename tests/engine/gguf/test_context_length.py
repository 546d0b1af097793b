"""A file whose YaRN settings contradict its context length is used at the shorter one, with a warning."""

from pathlib import Path

import pytest

from laguna_engine.gguf import header
from laguna_engine.gguf.header import Header, header_warnings, safe_context
from tests.engine import tiny


def checked(tmp_path: Path, context: int, factor: float, original: int, scaling: str = "yarn") -> Header:
    file = tiny.laguna().set("laguna.context_length", context).set("laguna.rope.scaling.factor", factor)
    file.set("laguna.rope.scaling.original_context_length", original).set("laguna.rope.scaling.type", scaling)
    return header.check(file.write(tmp_path / "model.gguf"))


@pytest.mark.parametrize(
    ("context", "factor", "original"), [(131_072, 32.0, 4096), (262_144, 64.0, 4096), (262_144, 32.0, 8192)]
)
def test_the_published_models_agree_with_themselves(tmp_path: Path, context: int, factor: float, original: int) -> None:
    file = checked(tmp_path, context, factor, original)
    assert (safe_context(file), header_warnings(file)) == (context, [])


@pytest.mark.parametrize(("context", "factor", "original"), [(262_144, 32.0, 4096), (131_072, 64.0, 4096)])
def test_a_drifted_file_is_clamped_with_a_warning(tmp_path: Path, context: int, factor: float, original: int) -> None:
    file = checked(tmp_path, context, factor, original)
    assert safe_context(file) == 131_072
    (warning,) = header_warnings(file)
    assert "at most 131072 are used" in warning


def test_without_yarn_the_declared_length_counts(tmp_path: Path) -> None:
    file = checked(tmp_path, 262_144, 32.0, 4096, scaling="none")
    assert (safe_context(file), header_warnings(file)) == (262_144, [])
