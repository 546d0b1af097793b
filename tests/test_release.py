"""What is released: a wheel with every file and no other, a lock that fits the project, recipes made from it."""

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.test_dependencies import plain
from tests.test_installer import hostile_folder
from tests.test_manual import TOP, script

PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
release, recipes = script(TOP / "packaging/release.py"), script(TOP / "packaging/lock_recipes.py")
LOCKED = recipes.read_lock()
TRACKED = ["laguna_tui/a.py", "engine/laguna_engine/b.py", "assets/nano/n.gguf", "models.toml", "tests/t.py",
           "assets/nano/recipe/r.py", "Makefile"]  # fmt: skip
SHIPPED = ["laguna_tui/a.py", "laguna_engine/b.py", "laguna_tui/data/assets/nano/n.gguf", "laguna_tui/data/models.toml"]
BESIDE = ["x-1.data/data/share/man/man1/laguna-tui.1", "x-1.dist-info/METADATA"]


def problems(folder: Path, files: dict[str, bytes]) -> list[str]:
    path = folder / "x.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return list(release.wheel_problems(path, TRACKED))


def test_a_wheel_with_what_is_shipped_is_right(tmp_path: Path):
    assert problems(tmp_path, dict.fromkeys([*SHIPPED, *BESIDE], b"")) == []


@pytest.mark.parametrize("missing", [*SHIPPED, BESIDE[0]])
def test_a_file_that_is_missing_from_a_wheel_is_named(missing: str, tmp_path: Path):
    (problem,) = problems(tmp_path, {name: b"" for name in [*SHIPPED, *BESIDE] if name != missing})
    assert "missing" in problem


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("tests/t.py", b"", "tests/t.py does not belong in it"),
        ("laguna_tui/.env", b"", "laguna_tui/.env does not belong in it"),
        ("x-1.dist-info/RECORD", str(TOP).encode(), f"x-1.dist-info/RECORD names {TOP}"),
    ],
)
def test_what_does_not_belong_into_a_wheel_is_named(name: str, content: bytes, problem: str, tmp_path: Path):
    files = {**dict.fromkeys([*SHIPPED, *BESIDE], b""), name: content}
    assert problem in problems(tmp_path, files)


def test_the_version_is_one_and_the_changelog_tells_of_it():
    assert release.check_version(TOP) == PROJECT["version"]


def test_a_version_that_the_changelog_does_not_know_is_not_released(tmp_path: Path):
    path = tmp_path / "CHANGELOG.md"
    path.write_text("# Changelog\n\n## 2.0.0\n\n- New.\n\n## 1.0.0\n\n- Old.\n")
    assert release.notes(path, "2.0.0") == "- New.\n"
    with pytest.raises(release.Wrong, match=r"has no section about 2\.0;"):
        release.notes(path, "2.0")


def test_the_lock_fits_what_the_project_asks_for():
    versions = {each.name: each.version for each in LOCKED}
    for line in PROJECT["dependencies"]:
        wanted = Requirement(line)
        assert wanted.specifier.contains(versions[plain(wanted.name)]), f"{line}: run make lock"


def test_every_file_of_the_lock_comes_from_the_index_and_has_its_hash():
    for each in LOCKED:
        assert each.url.startswith("https://files.pythonhosted.org/packages/")
        assert each.hashes
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in each.hashes)


def test_the_sbom_names_every_dependency_and_bundled_model():
    model = TOP / "assets/nano/laguna-nano.gguf"
    document = json.loads(recipes.sbom("1.0", LOCKED, {model.name: model}))
    assert document["bomFormat"] == "CycloneDX"
    names = [component["name"] for component in document["components"]]
    assert names == [*(each.name for each in LOCKED), "laguna-nano.gguf"]
    assert all(len(component["hashes"][0]["content"]) == 64 for component in document["components"])


def test_the_formula_has_what_linux_and_macos_need_and_nothing_of_windows():
    text = recipes.homebrew("1.0", "0" * 64, LOCKED)
    assert 'resource "llama-cpp-python"' in text
    assert "colorama" in {each.name for each in LOCKED}
    assert "colorama" not in text
    assert len(re.findall(r"^  resource ", text, re.MULTILINE)) == len(re.findall(r"^    sha256 ", text, re.MULTILINE))


def test_the_pkgbuild_is_a_script_and_its_requirements_are_pips(tmp_path: Path):
    lines = recipes.requirements(LOCKED)
    build = tmp_path / "PKGBUILD"
    build.write_text(recipes.pkgbuild("1.0", "0" * 64, lines))
    said = subprocess.run(
        ["bash", "-c", f"source {build}; printf '%s ' $pkgname ${{sha256sums[@]}} $(type -t package)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    name, sdist, of_lines, function = said.stdout.split()
    assert (name, sdist, len(of_lines), function) == ("laguna-tui", "0" * 64, 64, "function")
    heads = [line.removesuffix(" \\") for line in lines.splitlines() if not line.startswith("    --hash")]
    assert [Requirement(head).name for head in heads] == [each.name for each in LOCKED]
    info = recipes.srcinfo("1.0", "0" * 64, lines)
    assert of_lines in info
    assert "pkgname = laguna-tui" in info


def test_the_launcher_of_the_pkgbuild_runs_nothing_of_the_current_folder(tmp_path: Path):
    build = recipes.pkgbuild("1.0", "0" * 64, recipes.requirements(LOCKED))
    launcher = tmp_path / "laguna-tui"
    text = build.partition("<<'END'\n")[2].partition("END\n")[0]
    assert text.count("/usr/bin/python") == text.count("PYTHONPATH=/usr/lib/laguna-tui ") == 1
    launcher.write_text(text.replace("/usr/bin/python", sys.executable).replace("/usr/lib/laguna-tui", str(TOP)))
    folder, marks = hostile_folder(tmp_path)
    run = subprocess.run(
        ["sh", launcher, "models", "path", "nano"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert list(marks.iterdir()) == []


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> dict[str, str]:
    """The recipes of a release whose sdist and wheel are empty."""
    folder = tmp_path_factory.mktemp("built")
    sdist, wheel = folder / "laguna_tui-1.2.3.tar.gz", folder / "laguna_tui-1.2.3-py3-none-any.whl"
    sdist.touch()
    wheel.touch()
    return release.recipe_files("1.2.3", sdist, wheel)


def test_the_linters_that_are_installed_have_no_complaint(texts: dict[str, str], capsys):
    release.check_recipes(texts, all_linters=False)
    ran = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.endswith(": no complaint")]
    assert {"bash", "shellcheck", "check-jsonschema"} <= set(ran)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("aur/PKGBUILD", "package() {"),
        ("acp/laguna-tui/agent.json", '{"id": "Laguna"}'),
        ("homebrew/laguna-tui.rb", "class LagunaTui <"),
        ("nix/flake.nix", "{ description = "),
        ("containers/Containerfile", "RUN cd /x && sudo apt-get install git"),
    ],
)
def test_a_recipe_that_a_linter_refuses_is_not_released(name: str, wrong: str, texts: dict[str, str], capsys):
    release.check_recipes({name: texts[name]}, all_linters=False)
    if "skipped" in capsys.readouterr().out:
        pytest.skip("its linter is not installed")
    with pytest.raises(release.Wrong, match=name.rpartition("/")[2]):
        release.check_recipes({name: wrong}, all_linters=False)


def test_no_placeholder_is_left_in_a_recipe(texts: dict[str, str]):
    assert [name for name, text in texts.items() if re.search(r"@[A-Z]+@", text)] == []
    assert "laguna-ggml-cuda-sm${CUDA_ARCH}==0.3.36" in texts["containers/Containerfile.cuda"]


def test_nix_fetches_a_wheel_that_fits_of_everything_but_llama_cpp(texts: dict[str, str]):
    for system, files in json.loads(texts["nix/sources.json"]).items():
        sdists = [each["name"] for each in files if not each["name"].endswith(".whl")]
        assert sdists == ["llama_cpp_python-0.3.36.tar.gz"], system
        assert files[0]["url"].endswith("/releases/download/v1.2.3/laguna_tui-1.2.3-py3-none-any.whl")
        other = "macosx" if "linux" in system else "manylinux"
        assert not any(other in each["name"] for each in files), system


def test_a_tarball_has_its_files_and_no_date(tmp_path: Path):
    path, texts = tmp_path / "x.tar.gz", {"x/PKGBUILD": "pkgname=x\n", "x/.SRCINFO": "ä\n"}
    path.write_bytes(release.tarball(texts))
    with tarfile.open(path) as archive:
        found = {member.name: archive.extractfile(member).read().decode() for member in archive}
    assert found == texts
    # Bytes 4 to 7 of gzip's header are the time.
    assert path.read_bytes()[4:8] == bytes(4)
    assert release.tarball(texts) == path.read_bytes()


def test_the_address_of_the_release_page_is_the_same_everywhere():
    address = PROJECT["urls"]["Releases"]
    texts = [TOP / "README.md", *(TOP / "assets/docs").glob("*.md"), *(TOP / "packaging").iterdir()]
    found = [
        each for path in texts if path.is_file()
        for each in re.findall(r"https://github\.com/laguna-tui/[\w/-]*", path.read_text(encoding="utf-8"))
    ]  # fmt: skip
    assert len(found) >= 2
    assert [each for each in found if not each.startswith(f"{address}/")] == []
