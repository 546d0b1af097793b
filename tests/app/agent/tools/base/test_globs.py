"""Globs mean what they mean in a shell, and cannot take for ever."""

import pytest

from laguna_tui.agent.tools.base.result_lines import is_glob, matching_paths, path_matches


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.py", "main.py", True),
        ("*.py", "a/b/main.py", True),
        ("a/*.py", "a/main.py", True),
        ("a/*.py", "a/b/main.py", False),
        ("a/**/*.py", "a/main.py", True),
        ("a/**/*.py", "a/b/c/main.py", True),
        ("**/main.py", "main.py", True),
        ("a/", "a/b/main.py", True),
        ("a/**", "a/b/main.py", True),
        ("*/main.py", "main.py", False),
        ("ma?n.[pt]y", "main.py", True),
        ("*.PY", "main.py", False),
        ("[", "a[", False),
    ],
)
def test_parts_and_depths(glob, path, expected):
    assert path_matches(glob, path) is expected


def test_what_a_glob_is():
    assert is_glob("*.py")
    assert not is_glob("main.py")


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    ("glob", "expected"), [("*a" * 100 + "b", False), ("**/a/" * 100 + "b", False), ("**/" * 200 + "*", True)]
)
def test_hostile_globs_take_no_time(glob, expected):
    assert path_matches(glob, "/".join("a" * 200)) is expected
    assert path_matches(glob, "a" * 250) is expected


@pytest.mark.parametrize("pattern", ["caf\u00e9", "cafe\u0301", "caf\u00e9*.py", "cafe\u0301*.py"])
def test_a_path_is_found_in_either_normal_form(pattern):
    paths = ["caf\u00e9.py", "cafe\u0301.py", "cafe.py"]
    assert matching_paths(pattern, paths) == sorted(paths[:2])
