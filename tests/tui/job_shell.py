"""A shell with one job, for `job.py`: it hands the terminal over, takes it back when the job stops or ends, no more.

`python -m tests.tui.job_shell ORDERS REPORTS COMMAND…`: every line read from the descriptor ORDERS continues the job
in the foreground; what becomes of the job is written to REPORTS, a JSON list a line. It mends nothing of the terminal,
as dash does, so what a job leaves behind stays visible. It ends when the orders do.
"""

import json
import os
import signal
import sys


def main(orders: int, reports: int, command: list[str]) -> None:
    for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        if not os.environ.get("LAGUNA_BACKGROUND"):
            os.tcsetpgrp(0, os.getpid())
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    report(reports, "started", job)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if not os.WIFSTOPPED(status):
            break
        report(reports, "stopped", os.WSTOPSIG(status))
        if not os.read(orders, 1):
            return
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)
    report(reports, "ended", os.waitstatus_to_exitcode(status))
    os.read(orders, 1)


def report(reports: int, event: str, number: int) -> None:
    os.write(reports, json.dumps([event, number]).encode() + b"\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
