"""/init has the model write an AGENTS.md, which the user is asked about in every mode."""

import pytest

from laguna_tui.tui.approvals import approval_panel
from laguna_tui.tui.controllers import approval_controller
from tests.scripted_model import Script, call, scripted_session
from tests.tui.pilot import ready, running, screen, transcript, until

DRAFT = "# Shop\n\n- `make test` runs the tests.\n"


@pytest.mark.parametrize(("key", "written"), [("y", True), ("n", False)])
async def test_the_model_drafts_instructions_and_the_user_decides_about_them(tmp_path, monkeypatch, key, written):
    monkeypatch.setattr(approval_panel, "REACTION_S", 0.0)
    monkeypatch.setattr(approval_controller, "TYPING_S", 0.0)
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "Makefile").write_text("all:\n")
    script = Script([call("list", path="."), call("write", path="AGENTS.md", content=DRAFT), "Drafted."])
    session = scripted_session(folder, script, mode="accept-edits", context=8192, thinking=False)
    try:
        async with running(session) as (app, pilot):
            await ready(app, pilot)
            await pilot.press(*"/init", "enter")
            await until(pilot, lambda: app.approval_panel.has_focus)
            assert "Create AGENTS.md?" in screen(app)
            await pilot.press(key)
            await until(pilot, lambda: "Drafted." in transcript(app))
            await ready(app, pilot)
    finally:
        session.close()
    assert "Write an AGENTS.md for this folder" in script.asked[0].user
    assert "Makefile" in script.asked[1].result
    assert (folder / "AGENTS.md").exists() == written
    if written:
        assert (folder / "AGENTS.md").read_text() == DRAFT
