"""The Python environment that the app lives in, and whether packages may be exchanged in it."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from laguna_engine.child import outside_python, run
from laguna_tui.errors import UserError

_LIMIT_S = 30.0

_QUERY = """
import importlib.util, json, os, sys, sysconfig
site = sysconfig.get_path("platlib")
marker = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
print(json.dumps({
    "prefix": sys.prefix,
    "site": site,
    "has_pip": importlib.util.find_spec("pip") is not None,
    "managed": sys.prefix == sys.base_prefix and os.path.exists(marker),
    "writable": os.access(site, os.W_OK | os.X_OK),
}))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """site: the folder that packages are installed into. managed: the system's package manager owns it."""

    python: str
    prefix: str
    site: Path
    has_pip: bool
    managed: bool
    writable: bool

    @classmethod
    def of(cls, python: str = sys.executable) -> "Environment":
        """The one that this Python runs in; asked in a process of its own. UserError when it does not answer."""
        answer = run((*outside_python(python), "-c", _QUERY), _LIMIT_S)
        if not answer.good:
            raise UserError(f"{python} does not run as it should; install laguna-tui again")
        told = json.loads(answer.text)
        return cls(python, **{**told, "site": Path(told["site"])})

    def check(self) -> None:
        """UserError when packages cannot be exchanged here; says what to do instead."""
        if self.managed:
            raise UserError(
                f"{self.prefix} belongs to the system's package manager; install laguna-tui with pipx "
                "(pipx install laguna-tui), or in a virtual environment, and run this again there"
            )
        if not self.has_pip:
            raise UserError(
                f"there is no pip in {self.prefix}; add it (python -m ensurepip, or where uv made it: "
                f"uv pip install --python {self.python} pip) and run this again"
            )
        if not self.writable:
            raise UserError(f"{self.site} cannot be written; run this as the user who installed laguna-tui")
