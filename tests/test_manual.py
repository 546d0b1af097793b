"""The manual and the README say what the app does: their tables, flags, links and examples are checked."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from laguna_tui.agent.permissions.rule_file import read_user_rules
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.manual import manual_pages
from laguna_tui.cli.arguments import commands_of
from laguna_tui.cli.ask import EXIT_CODES
from laguna_tui.cli.main import command_parser, main

TOP = Path(__file__).parent.parent
README = TOP / "README.md"
DOCS = TOP / "assets/docs"
TEXTS = [README, *sorted(DOCS.glob("*.md"))]


def script(path):
    """A script of the repository as a module; `packaging` is also the name of an installed library."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def manual():
    return script(TOP / "packaging/manual.py")


@pytest.mark.parametrize("page", DOCS.glob("*.md"), ids=lambda page: page.stem)
def test_tables_are_up_to_date(manual, page):
    text = page.read_text(encoding="utf-8")
    assert text == manual.updated(text), "run: python packaging/manual.py"


def test_every_table_is_on_one_page(manual):
    marks = re.findall(
        r"<!-- (\w+): generated", "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    )
    assert sorted(marks) == sorted(manual.TABLES)


def test_the_example_of_rules_is_a_rule_file(tmp_path):
    text = (DOCS / "permissions.md").read_text(encoding="utf-8")
    file = tmp_path / "permissions.toml"
    file.write_text("[rules] " + text.split("[rules] ", 1)[1].split("```", 1)[0], encoding="utf-8")
    file.chmod(0o600)
    read = read_user_rules(file, TOP)
    assert (read.broken, len(read.rules.allow), len(read.rules.deny)) == ("", 2, 2)


def test_the_exit_codes_of_the_help_are_all_there_are():
    listed = re.findall(r"^ +(\d+) +(.+)", EXIT_CODES, re.MULTILINE)
    assert [(int(code), meaning) for code, meaning in listed] == [(code.value, code.meaning) for code in ExitCode]


def flags(parser):
    """Every option of a command and its subcommands."""
    own = {option for action in parser._actions for option in action.option_strings}
    return own.union(*map(flags, commands_of(parser).values()))


def command_lines():
    """What follows `laguna-tui` in code of the README and the manual, up to a pipe or a comment."""
    for text in TEXTS:
        for code in re.findall(r"^```.*?^```|`[^`\n]+`", text.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            yield from re.findall(r"(?:^|[`|;&] ?)laguna-tui +([^`|#\n]+)", code, re.MULTILINE)


def test_every_flag_of_laguna_tui_exists():
    named = {flag for line in command_lines() for flag in re.findall(r"--[a-z-]+", line)}
    assert named >= {"--schema", "--json", "--model"}
    assert named <= flags(command_parser())


def test_every_command_of_laguna_tui_exists():
    words = {line.split()[0] for line in command_lines() if line.strip()}
    named = {word for word in words if re.fullmatch(r"[a-z-]+", word) and not word.startswith("-")}
    assert named >= {"ask", "models", "serve"}
    assert named <= set(commands_of(command_parser()))


def test_messages_of_the_troubleshooting_page_are_in_the_code():
    text = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    messages = re.findall(r"^\| `([^`]*[a-z] [^`]*)`", text, re.MULTILINE)
    sources = [
        path.read_text(encoding="utf-8") for top in ("laguna_tui", "engine") for path in (TOP / top).rglob("*.py")
    ]
    code = re.sub(r'"\s+f?"', "", "".join(sources))
    assert len(messages) > 10
    assert [message for message in messages if message not in code and not message.startswith("laguna-tui")] == []


def anchors(page):
    """The anchors of a page's headings, as GitHub and mkdocs make them."""
    headings = re.findall(r"^#+ (.+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not link.startswith("https://"):
            path, _, anchor = link.partition("#")
            target = (page.parent / path) if path else page
            assert target.is_file(), link
            assert not anchor or anchor in anchors(target), link


def test_the_readme_links_every_page():
    links = set(re.findall(r"\(assets/docs/([\w-]+)\.md\)", README.read_text(encoding="utf-8")))
    assert links == set(manual_pages())


def test_help_lists_the_pages(capsys):
    assert main(["help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(manual_pages())
    assert "laguna-tui help install" in " ".join(line.rstrip() for line in lines)


def test_help_prints_a_page_without_pictures(capsys):
    assert main(["help", "changing-code"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# Changing code\n")
    assert "screenshots" not in shown


def test_help_names_a_page_like_the_one_asked_for(capsys):
    assert main(["help", "permission"]) == 2
    assert capsys.readouterr().err.startswith(
        "laguna-tui: the manual has no page 'permission' (did you mean permissions?); the pages: asking, "
    )


def test_the_manual_builds_as_a_site(tmp_path):
    pytest.importorskip("material")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", TOP / "packaging/mkdocs.yml", "-d", tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert all((tmp_path / "docs" / page / "index.html").is_file() for page in manual_pages())
