"""Run as a program: runs one check of one model and prints its findings as JSON.

It is a process of its own because a faulty kernel or driver takes its process with it, and because strict speculation
has to be chosen before anything is computed.
"""

import json
import sys
from dataclasses import asdict, replace

from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings, load_settings
from laguna_tui.machine.doctor.findings import Finding, FindingStatus, fail

BUNDLED = "nano"


def encode_findings(findings: list[Finding]) -> str:
    """Return findings as one line of JSON."""
    return json.dumps([asdict(finding) for finding in findings])


def decode_findings(text: str) -> list[Finding] | None:
    """Return the findings of the last line; None if there are none."""
    try:
        fields = json.loads(text.strip().splitlines()[-1])
        return [Finding(each["check"], FindingStatus(each["status"]), each["found"], each["todo"]) for each in fields]
    except (ValueError, IndexError, KeyError, TypeError):
        return None


def checked_settings(model: str, chosen: dict[str, object]) -> Settings:
    """Return the settings to check a model with: the user's, for the bundled model only the threads of them.

    Raises:
        UserError: The settings are wrong.
    """
    settings = load_settings().merged(chosen)
    if model == BUNDLED:
        return replace(Settings(), threads=settings.threads)
    return settings


def main(check: str, model: str, chosen: str) -> int:
    """Print the findings; returns the exit code. chosen: JSON object of the settings given as flags."""
    from laguna_engine.errors import EngineError
    from laguna_engine.native.verdicts import verdicts
    from laguna_tui.base.paths import state_dir
    from laguna_tui.machine.selfcheck.engine_checks import CHECKS
    from laguna_tui.models.model_selection import select_model, select_other
    from laguna_tui.session.model_options import VERDICTS

    try:
        settings = checked_settings(model, json.loads(chosen))
        verdicts.keep_in(state_dir() / VERDICTS)
        selection = select_model(settings) if settings.model == model else select_other(settings, model)
        findings = CHECKS[check](selection)
    except (EngineError, UserError) as error:
        findings = [fail(check, str(error), "correct that, and run it again")]
    sys.stdout.write(encode_findings(findings) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
