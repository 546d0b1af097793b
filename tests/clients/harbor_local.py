"""What Harbor loads where there is no Docker: an environment of Bubblewrap's, and its ACP agent without its downloads.

Runs in Harbor's Python, with nothing of ours imported.
"""

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from harbor.agents.installed.acp import AcpAgent
from harbor.environments.base import BaseEnvironment, ExecResult

OWN = ("app", "installed-agent", "logs", "opt", "solution", "tests")
"""Folders at the top that belong to the trial; the others are this machine's, read-only but for /tmp."""


class BubblewrapEnvironment(BaseEnvironment):
    """A root of this machine's folders and of the trial's own; what the task's Dockerfile would copy is in /app."""

    @staticmethod
    def type() -> str:
        return "bubblewrap"

    def _validate_definition(self) -> None:
        pass

    @property
    def root(self) -> Path:
        """Where the trial's own folders lie."""
        return self.trial_paths.trial_dir / "root"

    async def start(self, force_build: bool) -> None:
        for name in OWN:
            (self.root / name).mkdir(parents=True)
        for name in ("agent", "verifier", "artifacts"):
            (self.root / "logs" / name).mkdir()
        shutil.copytree(self.environment_dir, self.root / "app", dirs_exist_ok=True)
        # Harbor's own Python has the protocol's library.
        (self.root / "opt" / "harbor-acp-venv").symlink_to(sys.prefix)

    async def stop(self, delete: bool) -> None:
        pass

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        target = self._inside(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, target)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self._inside(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(self._inside(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self._inside(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        line = ["bwrap", "--die-with-parent", "--unshare-pid", "--proc", "/proc", "--dev", "/dev"]
        for path in sorted(Path("/").iterdir()):
            if path.name in ("proc", "dev", *OWN):
                continue
            if path.is_symlink():
                line += ["--symlink", str(path.readlink()), str(path)]
            elif path.is_dir():
                line += ["--bind" if path.name == "tmp" else "--ro-bind", str(path), str(path)]
        for each in OWN:
            line += ["--bind", str(self.root / each), f"/{each}"]
        variables = {"PATH": os.environ["PATH"], "HOME": "/opt", **(self._merge_env(env) or {})}
        line += ["--chdir", cwd or "/app", "bash", "-c", command]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*line, env=variables, stdout=pipe, stderr=pipe)
        try:
            output, errors = await asyncio.wait_for(process.communicate(), timeout_sec)
        except (TimeoutError, asyncio.CancelledError):
            process.kill()
            await process.wait()
            raise
        return ExecResult(
            stdout=output.decode(errors="replace"),
            stderr=errors.decode(errors="replace"),
            return_code=process.returncode or 0,
        )

    def _inside(self, path: str) -> Path:
        return self.root / path.lstrip("/")


class InstalledAcpAgent(AcpAgent):
    """The ACP agent in an environment that has all it needs: nothing is fetched by apt, curl or uv."""

    def _build_dependencies_command(self, kind: Any) -> str:
        return "true"
