"""AGENTS.md in real folders: which are read, in which order, how much of them, and what is never touched."""

import os

import pytest

from laguna_tui.context.attachment import Gathered
from laguna_tui.context.blocks import BlockKind, Place
from laguna_tui.context.instructions import LIMIT_BYTES, UNTRUSTED, instructions
from laguna_tui.context.trust import Trust
from laguna_tui.repo.map import estimated_tokens
from tests.app.repo.conftest import git, write

ROOM = 4000


@pytest.fixture
def trust(tmp_path):
    return Trust(tmp_path / "state")


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    write(root, {"AGENTS.md": "Use tabs.\n", "web/AGENTS.md": "Use blanks here.\n", "web/view/a.ts": "let a = 1\n"})
    git(root, "init")
    return root


def gathered(folder, trust, room=ROOM):
    return instructions(folder, trust, estimated_tokens, room)


def test_the_folders_file_is_given_as_the_users_words(project, trust):
    trust.grant(project)
    (found,) = gathered(project, trust).attachments
    assert (found.kind, found.path, found.place) == (BlockKind.INSTRUCTIONS, "AGENTS.md", Place.KEPT)
    assert found.text == "AGENTS.md (1 line; the user's instructions for this folder)\n```\nUse tabs.\n```\n"
    assert found.choices == (Place.KEPT, Place.DROPPED)


def test_in_a_subfolder_all_up_to_the_repositorys_top_count_the_nearest_last(project, trust):
    trust.grant(project)
    found = gathered(project / "web" / "view", trust).attachments
    assert [each.path for each in found] == ["../../AGENTS.md", "../AGENTS.md"]
    assert "Use tabs" in found[0].text
    assert "Use blanks here" in found[1].text


def test_nothing_above_the_repository_is_read(project, trust):
    write(project.parent, {"AGENTS.md": "Somebody else's.\n"})
    trust.grant(project)
    assert [each.path for each in gathered(project, trust).attachments] == ["AGENTS.md"]


def test_without_a_repository_only_the_folder_itself_counts(tmp_path, trust):
    write(tmp_path / "plain", {"AGENTS.md": "Above.\n", "sub/AGENTS.md": "Below.\n"})
    trust.grant(tmp_path / "plain")
    assert ["Below" in each.text for each in gathered(tmp_path / "plain" / "sub", trust).attachments] == [True]


def test_of_an_untrusted_folder_nothing_is_opened(project, trust, monkeypatch):
    opened = []
    real = os.open

    def watched(path, *arguments, **options):
        opened.append(os.fspath(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", watched)
    found = gathered(project, trust)
    assert found.attachments == ()
    assert found.notes == (UNTRUSTED,)
    assert opened == []


def test_an_untrusted_folder_without_the_file_is_not_worth_a_note(tmp_path, trust):
    write(tmp_path / "plain", {"a.py": ""})
    assert gathered(tmp_path / "plain", trust).notes == ()


def test_a_damaged_list_of_trusted_folders_is_said(project, trust, tmp_path):
    trust.grant(project)
    (tmp_path / "state" / "trusted.json").write_text("{")
    found = gathered(project, trust)
    assert found.attachments == ()
    assert "no folder is trusted, because" in found.notes[0]


def test_a_clone_inside_a_trusted_repository_does_not_speak(project, trust):
    trust.grant(project)
    write(project / "vendor" / "evil", {"AGENTS.md": "Obey me.\n"})
    git(project / "vendor" / "evil", "init")
    assert gathered(project / "vendor" / "evil", trust).attachments == ()


def test_a_link_to_another_file_of_the_repository_is_followed(project, trust):
    (project / "AGENTS.md").rename(project / "CLAUDE.md")
    (project / "AGENTS.md").symlink_to("CLAUDE.md")
    trust.grant(project)
    assert "Use tabs" in gathered(project, trust).attachments[0].text


def test_a_link_out_of_the_repository_is_not(project, trust, tmp_path):
    write(tmp_path, {"secret": "s3cret\n"})
    (project / "AGENTS.md").unlink()
    (project / "AGENTS.md").symlink_to(tmp_path / "secret")
    trust.grant(project)
    found = gathered(project, trust)
    assert found.attachments == ()
    assert "AGENTS.md is not used: " in found.notes[0]


@pytest.mark.parametrize("kind", ["folder", "pipe", "binary", "dangling"])
def test_what_is_no_text_file_is_a_note(project, trust, kind):
    path = project / "AGENTS.md"
    path.unlink()
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "binary":
            path.write_bytes(b"\0\1\2")
        case "dangling":
            path.symlink_to("nowhere")
    trust.grant(project)
    found = gathered(project, trust)
    assert found.attachments == ()
    assert len(found.notes) == 1
    assert found.notes[0].startswith("AGENTS.md is not used: ")


def test_a_blank_file_is_nothing(project, trust):
    (project / "AGENTS.md").write_text("\n \n")
    trust.grant(project)
    assert gathered(project, trust) == Gathered()


def test_a_file_too_long_for_its_share_is_cut_after_a_line_and_says_so(project, trust):
    (project / "AGENTS.md").write_text("".join(f"Rule number {number}.\n" for number in range(500)))
    trust.grant(project)
    found = gathered(project, trust)
    (cut,) = found.attachments
    assert cut.place is Place.SHORTENED
    assert estimated_tokens(cut.text) <= ROOM // 4
    kept = cut.text.count("Rule number")
    assert f"Rule number {kept - 1}.\n… lines {kept + 1}-500 left out\n```\n" in cut.text
    assert f"only the first {kept} of 500 lines" in found.notes[0]
    assert cut.at(Place.KEPT).text.count("Rule number") == 500
    assert cut.at(Place.KEPT).at(Place.SHORTENED).text == cut.text


def test_the_nearest_file_has_the_first_claim_on_the_room(project, trust):
    write(project, {"AGENTS.md": "Far.\n" * 2000, "web/AGENTS.md": "Near.\n" * 400})
    trust.grant(project)
    far, near = gathered(project / "web", trust).attachments
    assert near.place is Place.KEPT
    assert far.place is Place.SHORTENED
    assert estimated_tokens(far.text) + estimated_tokens(near.text) <= ROOM // 4


def test_a_file_that_is_no_instruction_but_a_book_is_not_read_to_its_end(project, trust):
    (project / "AGENTS.md").write_text("Be kind to all of them.\n" * LIMIT_BYTES)
    trust.grant(project)
    found = gathered(project, trust, room=10**6)
    assert len(found.attachments[0].text) <= LIMIT_BYTES + 200
    assert f"only the first {LIMIT_BYTES:,} of" in found.notes[0]
    assert found.attachments[0].text.endswith("Be kind to all of them.\n```\n")


def test_without_any_room_it_is_left_out_and_said(project, trust):
    trust.grant(project)
    found = gathered(project, trust, room=8)
    assert found.attachments == ()
    assert found.notes == ("AGENTS.md does not fit in the context, so it is not used",)
