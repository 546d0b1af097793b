"""The example in the engine's README runs as it stands."""

import re
from pathlib import Path

import pytest

from tests.engine import drafters, tiny

README = Path(__file__).parents[2] / "engine/README.md"


def test_the_example_in_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    monkeypatch.chdir(tmp_path)
    tiny.laguna(tiny.Shape(n_ctx=8192)).write(tmp_path / "model.gguf")
    drafters.make(drafters.Variant(window=64)).write(tmp_path / "drafter.gguf")
    exec(compile(example[1], "README.md", "exec"), {})
    assert "tok/s" in capsys.readouterr().out
