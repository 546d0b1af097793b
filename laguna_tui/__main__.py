"""`laguna-tui`, and `python -m laguna_tui`."""

import signal
import sys

WINDOWS = (
    "laguna-tui: Windows is not supported; install WSL (in PowerShell: wsl --install), then install laguna-tui inside "
    "it\n"
)


def main(platform: str = sys.platform) -> int:
    """Run the command line; returns the exit code."""
    if platform == "win32":
        sys.stderr.write(WINDOWS)
        return 2
    try:
        from laguna_tui.cli import main as cli

        return cli.main()
    except KeyboardInterrupt:
        # Ctrl-C before the command line could handle it.
        return 128 + signal.SIGINT
    finally:
        # Nothing is left to clean up, and the interpreter would show a traceback from its shutdown.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
