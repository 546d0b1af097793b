"""Which checks a project has configured, and what their output says."""

import pytest

from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.repo.syntax.linters import Diagnostic, configured_linters


@pytest.fixture
def project(tmp_path):
    """Write files, and return the checks for one of them by their names."""
    (tmp_path / "project").mkdir()

    def checks(path, files):
        for name, text in files.items():
            (tmp_path / "project" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "project" / name).write_text(text)
        return {each.name: each for each in configured_linters(Workspace(tmp_path / "project"), path)}

    return checks


@pytest.mark.parametrize(
    ("path", "files", "names"),
    [
        ("a.py", {}, []),
        ("a.py", {"pyproject.toml": "[tool.black]\n"}, []),
        ("a.py", {"pyproject.toml": "[tool.ruff]\n"}, ["ruff"]),
        ("a.py", {"pyproject.toml": "[tool.ruff.lint]\n[tool.mypy]\nstrict = true\n"}, ["ruff", "mypy"]),
        ("a.py", {"ruff.toml": ""}, ["ruff"]),
        ("a.pyi", {".ruff.toml": "", "mypy.ini": "[mypy]\n"}, ["ruff", "mypy"]),
        ("a.py", {"setup.cfg": "[mypy]\n"}, ["mypy"]),
        ("a.py", {"setup.cfg": "[metadata]\n", "mypy.ini": "[other]\n"}, []),
        ("a.ts", {"tsconfig.json": "{ // comments\n}"}, ["tsc"]),
        ("src/a.tsx", {"tsconfig.json": "{}"}, ["tsc"]),
        ("src/lib.rs", {"Cargo.toml": ""}, ["cargo check"]),
        ("pkg/a.go", {"go.mod": "module a\n"}, ["go vet"]),
        ("a.md", {"pyproject.toml": "[tool.ruff]\n", "go.mod": "", "tsconfig.json": ""}, []),
        ("a.py", {"pyproject.toml": "[tool.ruff\n"}, []),
        ("a.py", {"pyproject.toml": "tool = 1\n", "mypy.ini": "[[[\n"}, []),
        ("a.py", {"pyproject.toml": "a = " + "[" * 100_000}, []),
        ("new/folder/a.py", {"ruff.toml": ""}, ["ruff"]),
    ],
)
def test_a_check_is_found_by_its_configuration(project, path, files, names):
    assert list(project(path, files)) == names


def test_the_nearest_configuration_counts(project):
    files = {"ruff.toml": "", "lib/ruff.toml": "", "lib/deep/a.py": "", "mypy.ini": "[mypy]\n"}
    checks = project("lib/deep/a.py", files)
    assert (checks["ruff"].folder, checks["mypy"].folder) == ("lib", "")


def test_mypy_checks_what_it_is_configured_for_or_everything(project):
    assert project("a.py", {"mypy.ini": "[mypy]\nfiles = src\n"})["mypy"].command.endswith("--no-pretty")
    assert project("b/a.py", {"b/mypy.ini": "[mypy]\n"})["mypy"].command.endswith("--no-pretty .")


def test_the_projects_own_program_is_preferred(project):
    files = {"pyproject.toml": "[tool.ruff]\n[tool.mypy]\n", ".venv/bin/ruff": "", "lib/mypy.ini": "[mypy]\n"}
    assert project("a.py", files)["ruff"].command.startswith(".venv/bin/ruff check ")
    assert project("a.py", files)["mypy"].command.startswith("mypy ")
    assert project("lib/a.py", {"lib/ruff.toml": ""})["ruff"].command.startswith("../.venv/bin/ruff ")


def test_a_program_is_not_looked_for_outside_of_the_folder(project, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ruff").touch()
    (tmp_path / "project/.venv").symlink_to(tmp_path)
    assert project("a.py", {"ruff.toml": ""})["ruff"].command.startswith("ruff ")


OUTPUTS = {
    "ruff": (
        {"ruff.toml": ""},
        "a.py",
        "a.py:3:5: F821 Undefined name `x`\nlib/b.py:1:1: F401 [*] `os` imported but unused\nFound 2 errors.\n",
        [
            Diagnostic("a.py", 3, "Undefined name `x`", "F821"),
            Diagnostic("lib/b.py", 1, "`os` imported but unused", "F401"),
        ],
    ),
    "mypy": (
        {"mypy.ini": "[mypy]\n"},
        "a.py",
        'a.py:3: error: Name "x" is not defined  [name-defined]\na.py:4: note: See https://mypy\n'
        "a.py:5:7: error: Missing return statement\nmypy: can't read file\n",
        [
            Diagnostic("a.py", 3, 'Name "x" is not defined', "name-defined"),
            Diagnostic("a.py", 5, "Missing return statement", ""),
        ],
    ),
    "tsc": (
        {"tsconfig.json": "{}"},
        "a.ts",
        "src/a.ts(3,5): error TS2322: Type 'string' is not assignable.\n  more\nerror TS18003: No inputs were found.\n",
        [Diagnostic("src/a.ts", 3, "Type 'string' is not assignable.", "TS2322")],
    ),
    "cargo check": (
        {"Cargo.toml": ""},
        "a.rs",
        "src/main.rs:3:5: error[E0308]: mismatched types: expected u8\nsrc/lib.rs:1:9: warning: unused variable: `x`\n"
        "error: could not compile `a` (bin) due to 1 previous error\n",
        [
            Diagnostic("src/main.rs", 3, "mismatched types: expected u8", "E0308"),
            Diagnostic("src/lib.rs", 1, "unused variable: `x`", ""),
        ],
    ),
    "go vet": (
        {"go.mod": ""},
        "a.go",
        "# example.com/a\n./a.go:3:5: undefined: x\nvet: ./b.go:4:2: expected ';'\npkg/c.go:7: unreachable code\n",
        [
            Diagnostic("a.go", 3, "undefined: x", ""),
            Diagnostic("b.go", 4, "expected ';'", ""),
            Diagnostic("pkg/c.go", 7, "unreachable code", ""),
        ],
    ),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_output_of_a_check_is_read(project, name):
    files, path, output, findings = OUTPUTS[name]
    assert project(path, files)[name].findings(output) == findings


def test_paths_are_relative_to_the_workspace(project):
    check = project("lib/a.py", {"lib/ruff.toml": ""})["ruff"]
    assert check.findings("b.py:1:1: F401 unused\n../c.py:2:1: F401 unused\n") == [
        Diagnostic("lib/b.py", 1, "unused", "F401"),
        Diagnostic("c.py", 2, "unused", "F401"),
    ]


@pytest.mark.parametrize("path", ["/etc/passwd", "../../secret.py", "x/../../../a.py"])
def test_a_path_that_leads_out_is_left_out(project, path):
    assert project("lib/a.py", {"lib/ruff.toml": ""})["ruff"].findings(f"{path}:1:1: F401 unused\n") == []


@pytest.mark.parametrize(
    "output", ["", "\0", ":" * 100_000, "a" * 1_000_000, "a.py:" * 50_000, "a.py:99999999999:1: F401 x", "(" * 100_000]
)
def test_output_that_says_nothing_has_no_findings(project, output):
    for path, files in (("a.py", {"ruff.toml": "", "mypy.ini": "[mypy]\n"}), ("a.ts", {"tsconfig.json": ""})):
        assert [each.findings(output) for each in project(path, files).values()] == [[]] * len(project(path, files))


def test_a_flood_of_findings_is_cut(project):
    check = project("a.py", {"ruff.toml": ""})["ruff"]
    assert len(check.findings("a.py:1:1: F401 unused\n" * 50_000)) == 2_000
