"""What the environment says about downloads. Only whether a secret is set is told, never what it is."""

from collections.abc import Iterator

from laguna_tui.doctor.finding import Finding, ok
from laguna_tui.doctor.machine import Machine
from laguna_tui.network import offline_variable

_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


def check_hub(machine: Machine) -> Iterator[Finding]:
    """The token, then everything that changes where downloads come from."""
    environment = machine.environment
    held = next((name for name in _TOKENS if environment.get(name)), None)
    yield ok("hub token", f"{held} is set" if held else "HF_TOKEN is not set; public models need none")
    # Addresses may hold a name and a password, so only the variables' names are told.
    changed = [name for name in ("HF_ENDPOINT", *_PROXIES) if environment.get(name)]
    offline = offline_variable(environment)
    said = [*([f"offline, because {offline} is set"] if offline else []), *(f"{name} is set" for name in changed)]
    yield ok("network", "; ".join(said) or "nothing set; no connection was tried", "")
