"""What the command line says about words it does not know, and that no command forgets what stood before its name."""

import argparse

import pytest

from laguna_tui.cli.arguments import commands_of
from laguna_tui.cli.main import command_parser, main, split_message


def refusal(capsys, *words: str) -> str:
    with pytest.raises(SystemExit) as leaving:
        command_parser().parse(words)
    assert leaving.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("serach x", "laguna-tui: unknown command 'serach' (did you mean search?); see: laguna-tui --help"),
        (
            "models downlaod x",
            "laguna-tui models: unknown command 'downlaod' (did you mean download?); see: laguna-tui models --help",
        ),
        (
            "bench everything",
            "laguna-tui bench: unknown command 'everything'; choose from ab; see: laguna-tui bench --help",
        ),
        (
            "ask --modell x y",
            "laguna-tui ask: unknown argument '--modell' (did you mean --model?); see: laguna-tui ask",
        ),
        ("ask --modell=x y", "laguna-tui ask: unknown argument '--modell=x' (did you mean --model?)"),
        ("doctor --offline", "laguna-tui doctor: unknown argument '--offline'; see: laguna-tui doctor --help"),
        ("compress x", "laguna-tui compress: the following arguments are required: --query; see: laguna-tui compress"),
        ("fit --context much", "laguna-tui fit: argument --context: invalid int value: 'much'"),
        ("map --tokens 3", "laguna-tui map: argument --tokens: must be a whole number from 64 to 1,000,000; see: "),
        ("search x --limit 0", "laguna-tui search: argument --limit: must be a whole number from 1 to 1,000; see: "),
        (
            "compress x --query q --keep 0",
            "laguna-tui compress: argument --keep: must be a number above 0 and at most 1; see: ",
        ),
        ("compress x --query q --keep nan", "laguna-tui compress: argument --keep: must be a number above 0"),
        ("serve --held -1", "laguna-tui serve: argument --held: must be a number from 0 to 1,000,000; see: "),
    ],
)
def test_what_is_not_understood_is_named_with_the_nearest_that_exists(capsys, line, sentence):
    assert refusal(capsys, *line.split()).startswith(sentence)


@pytest.mark.parametrize("name", ["models", "bench", "setup"])
def test_a_command_that_needs_another_one_names_them(capsys, name):
    arguments = command_parser().parse([name])
    with pytest.raises(SystemExit):
        arguments.run(arguments)
    said = capsys.readouterr().err
    assert said.startswith(f"laguna-tui {name}: missing command; choose from ")
    assert ", ".join(commands_of(commands_of(command_parser())[name])) in said


def test_what_a_user_typed_cannot_command_the_terminal(capsys):
    assert "\x1b" not in refusal(capsys, "\x1b]52;c;x\x07")


def _commands(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    own = list(commands_of(parser).values())
    return [*own, *(below for command in own for below in _commands(command))]


def test_no_command_overwrites_a_flag_that_stood_before_its_name():
    """argparse lets a command's default replace what was said earlier; only a value that must be given may do that."""
    parser = command_parser()
    before = {action.dest for action in parser._actions} - {"help", "version"}
    for command in _commands(parser):
        shared = [action for action in command._actions if action.dest in before]
        optional = [action for action in shared if action.option_strings or action.nargs in ("?", "*")]
        assert {action.default for action in optional} <= {argparse.SUPPRESS}, command.prog
        assert not before & command._defaults.keys(), command.prog


def test_flags_before_the_name_reach_the_command():
    reached = vars(command_parser().parse(["--scorer", "none", "--model", "x", "compress", "p", "--query", "q"]))
    assert (reached["scorer"], reached["model"]) == ("none", "x")
    assert command_parser().parse(["--offline", "models", "download", "x"]).offline is True
    assert command_parser().parse(["--offline", "models", "download", "--no-offline", "x"]).offline is False


@pytest.mark.parametrize(
    ("words", "left", "message"),
    [
        (["how are you?"], [], "how are you?"),
        (["--model", "a b", "how are you?", "--mode", "plan"], ["--model", "a b", "--mode", "plan"], "how are you?"),
        (["--", "models"], [], "models"),
        (["ask", "how are you?"], ["ask", "how are you?"], ""),
        (["modles"], ["modles"], ""),
        ([], [], ""),
    ],
)
def test_a_first_message_is_distinguished_from_a_command(words, left, message):
    assert split_message(command_parser(), words) == (left, message)


@pytest.mark.parametrize("word", ["zzz", "z" * 5000])
def test_an_unknown_word_may_have_been_a_message(word, capsys):
    with pytest.raises(SystemExit):
        main([word])
    assert "to send it as a message: laguna-tui -- zzz" in capsys.readouterr().err


def test_a_folder_in_the_place_of_a_command_is_recognised(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    hint = f"to work in it: laguna-tui --folder {tmp_path}; see: laguna-tui --help"
    assert capsys.readouterr().err == f"laguna-tui: '{tmp_path}' is a folder; {hint}\n"


def test_a_message_and_a_command_do_not_go_together(capsys):
    with pytest.raises(SystemExit):
        main(["how are you?", "models", "list"])
    assert 'for one answer: laguna-tui ask "QUESTION"' in capsys.readouterr().err
