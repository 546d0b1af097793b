"""What this runs inside: a virtual machine of Windows, a container, a session over the network, a multiplexer."""

from dataclasses import dataclass

from laguna_tui.doctor.machine import Machine

_CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Each is true where it holds; multiplexer is its name, or empty."""

    wsl: bool = False
    container: bool = False
    ssh: bool = False
    multiplexer: str = ""

    def words(self) -> list[str]:
        """For a line of a report."""
        told = [(self.wsl, "WSL"), (self.container, "a container"), (self.ssh, "an SSH session")]
        return [name for holds, name in told if holds] + ([self.multiplexer] if self.multiplexer else [])


def surroundings(machine: Machine) -> Surroundings:
    """Look at environment variables and the few files by which these give themselves away."""
    environment = machine.environment
    wsl = "microsoft" in (machine.read("/proc/sys/kernel/osrelease") or "").lower()
    container = bool(environment.get("container")) or any(machine.find(file) for file in _CONTAINER_FILES)
    ssh = bool(environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"))
    names = (("tmux", "TMUX"), ("screen", "STY"), ("zellij", "ZELLIJ"))
    multiplexer = next((name for name, variable in names if environment.get(variable)), "")
    return Surroundings(wsl, container, ssh, multiplexer)
