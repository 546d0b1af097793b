"""`ask --schema`: the answer is JSON of the schema, whatever the model would rather say."""

import io
import json

import pytest

from laguna_tui.base.exit_codes import ExitCode
from tests.scripted_model import call, say
from tests.scripted_model.ask import run

SCHEMA = {
    "type": "object",
    "properties": {"total": {"type": "integer"}, "file": {"enum": ["cart.py", "shop.py"]}},
    "required": ["total", "file"],
    "additionalProperties": False,
}


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Asks a model of a script with a schema; its exit code, stdout and stderr."""
    for kind in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/cart.py").write_text("total = 1\n")

    def asked(script, schema, *flags):
        file = tmp_path / "answer.schema.json"
        file.write_text(schema if isinstance(schema, str) else json.dumps(schema))
        arguments = ["ask", "--folder", str(tmp_path / "shop"), "--schema", str(file), *flags, "What is the total?"]
        return (run(script, arguments, tmp_path), *capsys.readouterr())

    return asked


def test_an_answer_of_the_schema_is_written_as_it_is(ask):
    code, out, _ = ask([say('{"total": 1, "file": "cart.py"}')], SCHEMA)
    assert (code, out) == (ExitCode.ANSWERED, '{"total": 1, "file": "cart.py"}\n')


def test_tools_may_be_called_first(ask):
    code, out, err = ask([say(call("read", path="cart.py")), say('{"total": 1, "file": "cart.py"}')], SCHEMA)
    assert (code, json.loads(out)) == (ExitCode.ANSWERED, {"total": 1, "file": "cart.py"})
    assert "cart.py" in err


def test_a_model_that_would_say_something_else_answers_with_the_schema_all_the_same(ask):
    code, out, _ = ask([say('Sure! {"total": "one", "file": "main.py"}')], SCHEMA, "--max-tokens", "200")
    assert code == ExitCode.ANSWERED
    answer = json.loads(out)
    assert isinstance(answer["total"], int)
    assert answer["file"] in ("cart.py", "shop.py")


def test_with_json_the_answer_is_in_the_object(ask):
    told = json.loads(ask([say('{"total": 1, "file": "cart.py"}')], SCHEMA, "--json")[1])
    assert json.loads(told["answer"]) == {"total": 1, "file": "cart.py"}


@pytest.mark.parametrize(
    "schema, problem",
    [("{", "is not JSON"), ("[1]", "neither an object"), ({"type": "objekt"}, "objekt")],
)
def test_a_schema_that_cannot_be_used_is_refused_before_the_model_opens(ask, schema, problem):
    code, out, err = ask([say("never said")], schema)
    assert (code, out) == (ExitCode.USAGE, "")
    assert "--schema" in err
    assert problem in err
