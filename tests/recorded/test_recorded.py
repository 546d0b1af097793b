"""What earlier versions wrote to disk is read, resumed and undone by this one."""

import json
import shutil
from contextlib import closing

import pytest

from laguna_tui.agent.permissions.rule_file import read_user_rules
from laguna_tui.base.events import TurnEnd
from laguna_tui.context.trust import Trust
from laguna_tui.models.partial_file import DownloadLock, own_part
from laguna_tui.session.draft_statistics import load_draft_statistics
from laguna_tui.store.session_store import SessionStore
from laguna_tui.tui.prompt.input_history import InputHistory
from tests.recorded import recording
from tests.recorded.recording import BASE, CUT, FOLDER, MESSAGES, MODEL_BYTES, PROJECT

VERSIONS = sorted(path.parent.name for path in FOLDER.glob("*/expected.json"))


@pytest.fixture(params=VERSIONS)
def base(request, tmp_path):
    """The folders of a user of that version, who moved to this one."""
    shutil.copytree(FOLDER / request.param, tmp_path, dirs_exist_ok=True)
    recording.replace_text(tmp_path, BASE, str(tmp_path))
    return tmp_path


@pytest.fixture
def expected(base):
    return json.loads((base / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(params=["session", "fork"])
def resumed(request, base, expected):
    """The recorded session or its copy, open again."""
    with closing(recording.prepared(base, resume=expected[request.param])) as session:
        session.open(lambda progress: None)
        yield session


def test_a_session_resumes_with_the_same_tokens_turns_steps_and_files(base, expected, resumed):
    assert recording.state_of(resumed, base / "project") == expected["states"][-1]


def test_each_turn_is_undone_and_redone(base, expected, resumed):
    state_of, history, project = recording.state_of, resumed.history, base / "project"
    for files in (expected["states"][1]["project"], PROJECT):
        history.apply(history.plan_undo())
        assert recording.contents(project) == files
    for state in expected["states"][1:4]:
        history.apply(history.plan_redo())
        assert recording.contents(project) == state["project"]
    assert [undone for *_, undone in state_of(resumed, project)["points"]] == [False] * len(MESSAGES)


def test_a_session_answers_after_it_was_resumed(resumed):
    events = list(resumed.chat.ask("And now?"))
    assert events[-1].end is TurnEnd.ANSWERED, events[-1]


def test_sessions_are_listed_found_and_exported(base, expected):
    store = SessionStore(base / "state", base / "cache")
    assert {each.id: each.title for each in store.newest()} == {
        expected["session"]: "Prices",
        expected["fork"]: "A copy",
    }
    assert {each.id for each in store.search("documentation")} == {expected["session"], expected["fork"]}
    for session, text in expected["exports"].items():
        assert recording.markdown(store, session) == text


def test_the_rest_of_what_the_user_has_is_read(base):
    project = base / "project"
    assert InputHistory(base / "state").entries == list(MESSAGES)
    assert Trust(base / "state").of(project).accepts(project / "AGENTS.md", PROJECT["AGENTS.md"].encode())
    rules = read_user_rules(base / "config" / "permissions.toml", project)
    assert [rule.text for rule in rules.rules.deny] == ["shell(git push)"]
    assert not rules.notes
    (statistics,) = (base / "state" / "economy").iterdir()
    assert load_draft_statistics(statistics)


def test_a_download_that_was_cut_is_completed(base):
    file = base / "store" / "model.gguf"
    with DownloadLock(file) as lock:
        assert lock.acquire()
        with own_part(file, recording.model_hash(), lock) as part:
            assert part.read_bytes() == MODEL_BYTES[:CUT]
