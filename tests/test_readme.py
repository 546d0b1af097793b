"""The README says what the app does: its keys, its exit codes and the flags in its examples are checked."""

import importlib.util
import re
from pathlib import Path

from laguna_tui.agent.permissions.rule_file import read_user_rules
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.cli.ask import EXIT_CODES
from laguna_tui.cli.main import main

TOP = Path(__file__).parent.parent
README = TOP / "README.md"


def script(path):
    """A script of the repository as a module; `packaging` is also the name of an installed library."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_keys_are_those_of_the_app():
    text = README.read_text(encoding="utf-8")
    assert text == script(TOP / "packaging/readme_keys.py").updated(text), "run: python packaging/readme_keys.py"


def test_the_settings_are_those_that_are_declared():
    text = README.read_text(encoding="utf-8")
    assert text == script(TOP / "packaging/readme_settings.py").updated(text), (
        "run: python packaging/readme_settings.py"
    )


def test_the_permissions_are_those_that_are_decided():
    text = README.read_text(encoding="utf-8")
    assert text == script(TOP / "packaging/readme_permissions.py").updated(text), (
        "run: python packaging/readme_permissions.py"
    )


def test_the_example_of_rules_is_a_file_of_rules(tmp_path):
    example = README.read_text(encoding="utf-8").split("[rules] ", 1)[1].split("```", 1)[0]
    file = tmp_path / "permissions.toml"
    file.write_text(f"[rules] {example}", encoding="utf-8")
    file.chmod(0o600)
    read = read_user_rules(file, TOP)
    assert (read.broken, len(read.rules.allow), len(read.rules.deny)) == ("", 2, 2)


def test_the_tools_are_those_that_are_declared():
    text = README.read_text(encoding="utf-8")
    assert text == script(TOP / "packaging/readme_tools.py").updated(text), "run: python packaging/readme_tools.py"


def test_the_languages_are_those_that_have_a_grammar():
    text = README.read_text(encoding="utf-8")
    assert text == script(TOP / "packaging/readme_languages.py").updated(text), (
        "run: python packaging/readme_languages.py"
    )


def test_the_commands_for_sessions_are_those_of_the_command_line():
    text = README.read_text(encoding="utf-8")
    assert text == script(TOP / "packaging/readme_sessions.py").updated(text), (
        "run: python packaging/readme_sessions.py"
    )


def test_the_events_and_the_exit_codes_are_those_of_the_code():
    text = README.read_text(encoding="utf-8")
    assert text == script(TOP / "packaging/readme_events.py").updated(text), "run: python packaging/readme_events.py"


def test_the_exit_codes_of_the_help_are_all_there_are():
    told = re.findall(r"^ +(\d+) +(.+)", EXIT_CODES, re.MULTILINE)
    assert [(int(code), meaning) for code, meaning in told] == [(code.value, code.meaning) for code in ExitCode]


def test_every_flag_in_the_readme_exists(capsys):
    helps = []
    commands = (
        "",
        "ask",
        "bench sweep",
        "eval",
        "setup gpu",
        "quantize-drafter",
        "search",
        "map",
        "index",
        "fit",
        "doctor",
        "selfcheck",
        "trust",
        "compress",
        "serve",
        "acp",
        "permissions",
        *(f"sessions {name}" for name in ("list", "fork", "delete", "export", "prune")),
    )
    for command in commands:
        try:
            main([*command.split(), "--help"])
        except SystemExit:
            helps.append(capsys.readouterr().out)
    flags = set(re.findall(r"laguna-tui[^|`\n]*?(--[a-z-]+)", README.read_text(encoding="utf-8")))
    assert flags >= {"--stats", "--json", "--model"}
    assert not [flag for flag in flags if flag not in "".join(helps)]
