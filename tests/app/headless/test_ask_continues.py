"""`ask -c` continues the last `ask` about a folder; of single questions only the last one is saved."""

from laguna_tui.base.paths import cache_dir, state_dir
from laguna_tui.cli.main import main
from laguna_tui.store.session_store import SessionStore


def test_a_question_after_another_knows_its_name_and_only_the_last_single_one_is_saved(tmp_path, capsys):
    (tmp_path / "cart.py").write_text("def total(rows):\n    return sum(rows)\n\n\ndef bill():\n    return total([])\n")
    ask = ["--folder", str(tmp_path), "--model", "nano", "--threads", "1"]
    saved = SessionStore(state_dir(), cache_dir())
    for question in ("where is bill defined?", "where is total defined?"):
        assert main(["ask", question, *ask]) == 0
    assert [each.title for each in saved.newest(tmp_path)] == ["where is total defined?"]
    capsys.readouterr()
    assert main(["ask", "-c", "and who calls it?", *ask]) == 0
    assert capsys.readouterr().out == "Used here:\n1. `bill cart.py:6`\n"
    assert [each.turns for each in saved.newest(tmp_path)] == [2]
