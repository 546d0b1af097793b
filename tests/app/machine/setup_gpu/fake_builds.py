"""Builds of llama.cpp that weigh nothing, an index on loopback that offers them, and an environment to put them into.

The wheels, the index, pip and the environment are real; only the library inside a wheel is not. It says of itself
what the real one would say when the bundled model is tried on it.
"""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pip

from laguna_engine.native.child import run
from laguna_engine.native.selftest import BINDING_VERSION
from laguna_tui.machine.setup_gpu.trial import trial_result

GPU = {"backends": ["CUDA", "CPU"], "devices": [{"name": "Some Card", "kind": "gpu"}], "tokens": 16, "seconds": 0.5}
CPU = {"backends": ["CPU"], "devices": [{"name": "Some Processor", "kind": "cpu"}], "tokens": 16, "seconds": 0.5}

TRY = "import llama_cpp; llama_cpp.tried()"


def wheel(
    folder: Path, tells: object, *, name="llama_cpp_python", package="llama_cpp", version=BINDING_VERSION, more=None
) -> Path:
    """A wheel whose library says `tells` when it is tried; a string in its place is run as a program.

    `more` has texts of more files by path, such as one in a folder that other packages may use.
    """
    body = tells if isinstance(tells, str) else f"import json; print(json.dumps({tells!r}))"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{package}/__init__.py": f"def tried():\n    {body}\n",
        f"{package}/lib/libllama.so": "no library",
        **(more or {}),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-any\n",
    }
    digests = {path: hashlib.sha256(text.encode()).digest() for path, text in files.items()}
    marks = {path: base64.urlsafe_b64encode(digest).rstrip(b"=").decode() for path, digest in digests.items()}
    rows = [f"{path},sha256={marks[path]},{len(text.encode())}" for path, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in files.items():
            archive.writestr(inner, text)
    return path


class Index:
    """A simple index (PEP 503) on loopback."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def offer(self, below: str, *wheels: Path, project="llama-cpp-python", sha256: str | None = None) -> None:
        """Put wheels into the index `below`."""
        mark = "" if sha256 is None else f"#sha256={sha256}"
        links = [f'<a href="/files/{below}/{path.name}{mark}">{path.name}</a>' for path in wheels]
        self.pages[f"/{below}/{project}/"] = f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()
        for path in wheels:
            self.pages[f"/files/{below}/{path.name}"] = path.read_bytes()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self):
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                index.asked.append(self.path)
                body = index.pages.get(self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/zip")
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_):
                pass

        return Handler


def environment(folder: Path, *wheels: Path) -> str:
    """A virtual environment with these wheels in it, whose pip lies outside, as in pipx's; returns its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    shared = folder / "shared"
    shared.mkdir()
    (shared / "pip").symlink_to(Path(pip.__file__).parent)
    site = site_of(folder)
    (site / "pipx_shared.pth").write_text(f"{shared}\n")
    for path in wheels:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(site)
    return str(folder / "venv" / "bin" / "python")


def site_of(folder: Path) -> Path:
    """Where packages lie in the environment made in `folder`."""
    return next((folder / "venv" / "lib").glob("python3*/site-packages"))


def try_build(python, beside):
    """What trying nano would show: the real process and the real judgement, about what the wheel says of itself."""
    path = "" if beside is None else f"import sys; sys.path.insert(0, {str(beside)!r}); "
    return trial_result(run((python, "-I", "-c", path + TRY), 30))


def says(python: str) -> object:
    """What the build in an environment tells, or None when there is none."""
    answer = run((python, "-I", "-c", TRY), 30)
    return json.loads(answer.text) if answer.good else None


def listing(folder: Path) -> dict[str, bytes]:
    """Every file below with its bytes; what Python compiled by the way does not count."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def without(folder: Path) -> None:
    """Remove a folder."""
    shutil.rmtree(folder)
