"""`install.sh`: checked against its list, one sentence where it cannot go on, nothing left behind.

The list and the wheels are of a project that weighs nothing; a whole release is installed by `tests/install`.
"""

import os
import platform
import re
import shutil
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.app.machine.setup_gpu.fake_builds import wheel
from tests.test_manual import TOP, script

SCRIPT = TOP / "packaging/install.sh"
installer = script(TOP / "packaging/installer.py")
PROGRAMS = "curl sh uname mkdir rm cp ln cat cut date dirname readlink mktemp sha256sum".split()
LIBC = ".".join(platform.libc_ver()[1].split(".")[:2]) or "2.17"
HERE = f"manylinux_{LIBC.replace('.', '_')}_{platform.machine()}"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="its folder of programs has those of Linux")


class Release:
    """A release of a program that says its version, and a home folder to install it into."""

    def __init__(self, folder: Path, *, llama: str = HERE, compiler: bool = False, starts: bool = False) -> None:
        self.dist, self.home, self.bin = folder / "dist", folder / "home", folder / "bin"
        for made in (self.dist / "wheels", self.home, self.bin):
            made.mkdir(parents=True)
        (self.bin / "python3").symlink_to(Path(sys.executable).resolve())
        for name in PROGRAMS:
            (self.bin / name).symlink_to(str(shutil.which(name)))
        if compiler:
            (self.bin / "c++").symlink_to("/bin/true")
        script = f"[console_scripts]\nlaguna-tui = laguna_tui:{'tried' if starts else 'missing'}\n"
        program = wheel(
            self.dist, "print('laguna-tui 1.0')", name="laguna_tui", package="laguna_tui", version="1.0",
            more={"laguna_tui-1.0.dist-info/entry_points.txt": script},
        )  # fmt: skip
        made = wheel(self.dist / "wheels", "pass")
        if llama:
            made.rename(made.with_name(made.name.replace("any", llama)))
        else:
            made.unlink()
        shutil.copy(program, self.dist / "wheels")
        self.list = self.dist / "requirements.txt"
        llamas = sorted((self.dist / "wheels").glob("llama_cpp_python-*.whl"))
        self.list.write_text(installer.package_list(LOCKED, program, llamas), encoding="utf-8")

    def install(self, *options: str, folder: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the script, filled in for this release. folder: the current one."""
        filled = self.fill()
        own = {"HOME": str(self.home), "PATH": str(self.bin), "PIP_CONFIG_FILE": os.devnull}
        command = ["sh", str(filled), *options]
        return subprocess.run(command, cwd=folder, env=variables | own, capture_output=True, text=True, check=False)

    def fill(self) -> Path:
        """Write the release's `install.sh`."""
        filled = self.dist / "install.sh"
        filled.write_text(installer.filled_script("1.0", self.list), encoding="utf-8")
        return filled


class ReleasePage(ThreadingHTTPServer):
    """The release page on loopback: a proxy that answers for its host, over TLS, and refuses every other host."""

    def __init__(self, release: Release, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        page = urlsplit(installer._recipes().RELEASES)
        self.host, self.certificate = page.hostname, folder / "page.pem"
        key = folder / "page.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc",
             "-keyout", key, "-out", self.certificate, "-subj", f"/CN={self.host}",
             "-addext", f"subjectAltName=DNS:{self.host}"],
            capture_output=True, check=True,
        )  # fmt: skip
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(self.certificate, key)
        files = [release.fill(), release.list, *(release.dist / "wheels").iterdir()]
        self.files = {f"{page.path}/download/v1.0/{path.name}": path.read_bytes() for path in files}
        links = "".join(f'<a href="{path}">{path}</a>' for path in self.files)
        self.files[f"{page.path}/expanded_assets/v1.0"] = links.encode()
        self.files[f"{page.path}/latest/download/install.sh"] = release.fill().read_bytes()

    @property
    def environment(self) -> dict[str, str]:
        """What makes curl and pip go through this proxy and trust its certificate."""
        certificate = str(self.certificate)
        proxy = f"http://127.0.0.1:{self.server_address[1]}"
        return {"https_proxy": proxy, "CURL_CA_BUNDLE": certificate, "PIP_CERT": certificate, "PIP_NO_INDEX": "1"}


class _Page(BaseHTTPRequestHandler):
    server: ReleasePage

    def do_CONNECT(self) -> None:
        if self.path != f"{self.server.host}:443":
            self.send_error(403)
            return
        self.send_response(200)
        self.end_headers()
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        self.close_connection = False

    def do_GET(self) -> None:
        content = self.server.files.get(self.path)
        self.send_response(200 if content is not None else 404)
        self.send_header("Content-Type", "text/html" if "assets" in self.path else "application/octet-stream")
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *arguments: object) -> None:
        """Stay silent."""


def left(folder: Path) -> list[Path]:
    """The files and links below a folder."""
    return [path for path in folder.rglob("*") if path.is_symlink() or path.is_file()]


def hostile_folder(parent: Path) -> tuple[Path, Path]:
    """A folder with a module of every name that is imported anywhere, and where each that runs leaves its name."""
    folder, marks = parent / "hostile", parent / "marks"
    folder.mkdir()
    marks.mkdir()
    for name in {*sys.stdlib_module_names, "pip", "build", "sitecustomize", "usercustomize"} - {"__main__"}:
        (folder / f"{name}.py").write_text(f"open({str(marks)!r} + '/' + __name__, 'w').close()\n")
    return folder, marks


LOCKED = f"llama-cpp-python==0.3.36 \\\n    --hash=sha256:{'0' * 64}\n"


@pytest.mark.parametrize("path", (TOP / "packaging").glob("*.sh"), ids=lambda path: path.name)
def test_shellcheck_finds_nothing(path: Path):
    program = Path(sys.executable).with_name("shellcheck")
    run = subprocess.run([program, path], capture_output=True, text=True, check=False)
    assert run.stdout == ""
    assert run.returncode == 0


def test_the_steps_are_shown_and_with_dry_run_nothing_is_done(tmp_path: Path):
    release = Release(tmp_path)
    run = release.install("--dry-run")
    assert run.returncode == 0, run.stderr
    assert "-m venv" in run.stdout
    assert "--require-hashes" in run.stdout
    assert list(release.home.iterdir()) == []


def test_a_program_that_does_not_start_is_not_linked_and_leaves_nothing_behind(tmp_path: Path):
    release = Release(tmp_path)
    run = release.install()
    assert run.returncode == 1
    assert "does not start; nothing was changed" in run.stderr
    assert left(release.home) == []


@pytest.mark.parametrize("variables", [{}, {"PYTHONPATH": ":"}, {"PYTHONPATH": "."}], ids=str)
def test_nothing_of_the_current_folder_is_run(tmp_path: Path, variables: dict[str, str]):
    release, (folder, marks) = Release(tmp_path), hostile_folder(tmp_path)
    run = release.install(folder=folder, **variables)
    # It has come to the last step.
    assert "the installed program does not start" in run.stderr
    assert list(marks.iterdir()) == []
    assert not list(folder.rglob("__pycache__"))


def test_the_first_line_of_the_readme_installs_from_the_release_page(tmp_path: Path):
    (block,) = re.findall(r"\A.*?```sh\n(.*?)```", (TOP / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    release = Release(tmp_path, starts=True)
    # The current folder is a project with files named like those of the offline bundle.
    project = tmp_path / "project"
    (project / "wheels").mkdir(parents=True)
    (project / "requirements.txt").touch()
    with ReleasePage(release, tmp_path) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        own = {"HOME": str(release.home), "PATH": str(release.bin), "PIP_CONFIG_FILE": os.devnull, **page.environment}
        run = subprocess.run(["sh", "-c", block], cwd=project, env=own, capture_output=True, text=True, check=False)
        page.shutdown()
    assert (run.returncode, run.stderr) == (0, "")
    assert block.count("\n") == 1
    assert "laguna-tui 1.0\n" in run.stdout
    installed = subprocess.run([release.home / ".local/bin/laguna-tui"], capture_output=True, text=True, check=True)
    assert installed.stdout == "laguna-tui 1.0\n"


def test_what_is_not_the_released_list_is_refused(tmp_path: Path):
    release = Release(tmp_path)
    release.install("--dry-run")
    filled = release.dist / "install.sh"
    release.list.write_text(release.list.read_text() + "evil==1.0\n")
    environment = {"HOME": str(release.home), "PATH": str(release.bin)}
    run = subprocess.run(["sh", filled], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "do not use it" in run.stderr
    assert list(release.home.iterdir()) == []


def test_a_wheel_that_is_not_the_listed_one_is_refused(tmp_path: Path):
    release = Release(tmp_path)
    (fitting,) = (release.dist / "wheels").glob("llama_cpp_python-*.whl")
    wheel(release.dist / "wheels", "print('evil')").rename(fitting)
    run = release.install()
    assert run.returncode == 1
    assert "DO NOT MATCH THE HASHES" in run.stderr
    assert left(release.home) == []


@pytest.mark.parametrize("llama", ["", "manylinux_2_999_" + platform.machine(), "manylinux_2_17_vax"])
def test_without_a_wheel_and_a_compiler_it_is_one_sentence_before_pip_starts(llama: str, tmp_path: Path):
    run = Release(tmp_path, llama=llama).install()
    assert run.returncode == 1
    assert len(run.stderr.splitlines()) == 1
    assert "no prebuilt llama.cpp" in run.stderr
    assert "install gcc and g++" in run.stderr
    assert run.stdout == ""


def test_with_a_compiler_it_goes_on(tmp_path: Path):
    assert Release(tmp_path, llama="", compiler=True).install("--dry-run").returncode == 0


def test_uninstalling_takes_out_what_was_installed_and_nothing_else(tmp_path: Path):
    release = Release(tmp_path)
    application = release.home / ".local/share/laguna-tui/app/1.0-1/bin/laguna-tui"
    session = release.home / ".local/share/laguna-tui/sessions/one"
    link = release.home / ".local/bin/laguna-tui"
    for path in (application, session):
        path.parent.mkdir(parents=True)
        path.touch()
    link.parent.mkdir(parents=True)
    link.symlink_to(application)
    run = release.install("--uninstall")
    assert run.returncode == 0, run.stderr
    assert left(release.home) == [session]
    assert "was not installed by this script" in release.install("--uninstall").stderr


def test_another_program_of_that_name_is_not_uninstalled(tmp_path: Path):
    release = Release(tmp_path)
    link = release.home / ".local/bin/laguna-tui"
    link.parent.mkdir(parents=True)
    link.symlink_to("/somewhere/else")
    (release.home / ".local/share/laguna-tui/app").mkdir(parents=True)
    release.install("--uninstall")
    assert link.is_symlink()


def test_a_mistake_is_one_sentence(tmp_path: Path):
    run = Release(tmp_path).install("--frm")
    assert run.returncode == 1
    assert run.stderr.startswith("install.sh: --frm: it must be one of")


def test_the_source_of_it_does_not_install(tmp_path: Path):
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    run = subprocess.run(["sh", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert run.stderr == "install.sh: this is the template of a release's install.sh; use the one of a release\n"


def test_the_list_has_the_hash_of_every_wheel_of_ours(tmp_path: Path):
    release = Release(tmp_path)
    text = release.list.read_text(encoding="utf-8")
    for path in (release.dist / "wheels").glob("*.whl"):
        assert text.count(f"--hash=sha256:{installer._sha256(path)}") == 1
    assert text.startswith(f"# llama-cpp-python: Linux {platform.machine()} {LIBC}\n")


def test_the_hashes_of_a_release_have_each_file_once(tmp_path: Path):
    (tmp_path / "SHA256SUMS").write_text("0  laguna_tui-1.0.tar.gz\n1  install.sh\n")
    script = tmp_path / "install.sh"
    script.touch()
    for _ in range(2):
        installer.add_sums(tmp_path, [script])
    digest = installer._sha256(script)
    assert (tmp_path / "SHA256SUMS").read_text() == f"0  laguna_tui-1.0.tar.gz\n{digest}  install.sh\n"


@pytest.mark.parametrize("python", installer.PYTHONS)
def test_the_bundle_has_what_each_python_needs_whichever_makes_it(python: str):
    packages = installer.needed(installer._requirements(), python)
    names = re.findall(r"^([\w.-]+)==", packages, re.MULTILINE)
    assert {"numpy", "textual", "llama-cpp-python"} <= set(names)
    assert len(names) == len(set(names))
    assert " ; " not in packages
    assert packages.count("--hash=sha256:") > len(names)


def test_what_an_older_python_needs_is_not_in_the_bundle_for_a_newer_one():
    old, new = (f"numpy=={version} ; {{}} \\\n    --hash=sha256:{version[-1] * 64}\n" for version in ("2.4.6", "2.5.5"))
    listed = "# heads\n" + old.format("python_full_version == '3.11.*'") + new.format("python_full_version >= '3.12'")
    assert installer.needed(listed, "3.11") == f"numpy==2.4.6 \\\n    --hash=sha256:{'6' * 64}\n"
    assert installer.needed(listed, "3.13") == f"numpy==2.5.5 \\\n    --hash=sha256:{'5' * 64}\n"
