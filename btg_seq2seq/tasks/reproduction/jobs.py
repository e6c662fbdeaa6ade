"""All runs of a command: one after the other with their progress, or several side by side."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from btg_seq2seq.tasks.reproduction.results import Job

POLL = 0.5  # seconds
COMMAND = (sys.executable, "-m", "btg_seq2seq.cli.main", "reproduce")


def run_side_by_side(
    jobs: Sequence[Job],
    at_once: int,
    arguments: Sequence[str],
    output: Path,
    say: Callable[[str], None],
) -> list[Job]:
    """Run jobs in processes of their own, with a log each; return those that failed.

    When this process is stopped, the others are asked to save and stop, and waited for.
    """
    waiting, failed = list(jobs), []
    running: list[tuple[Job, subprocess.Popen[bytes], IO[bytes]]] = []
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                job = waiting.pop(0)
                running.append((job, *_start(job, arguments, output)))
                say(f"{job}: started; its log is {_log(job, output)}")
            time.sleep(POLL)
            for one in list(running):
                job, process, log = one
                if process.poll() is None:
                    continue
                log.close()
                running.remove(one)
                if process.returncode:
                    failed.append(job)
                done = "done" if process.returncode == 0 else "failed, see its log"
                say(f"{job}: {done}; {len(waiting) + len(running)} to go")
    except BaseException:
        _stop([process for _, process, _ in running], say)
        raise
    return failed


def _log(job: Job, output: Path) -> Path:
    return output / job.task.name / f"{job.name}.log"


def _start(
    job: Job, arguments: Sequence[str], output: Path
) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    path = _log(job, output)
    path.parent.mkdir(parents=True, exist_ok=True)
    log = path.open("ab")
    command = [*COMMAND, job.task.name, *arguments]
    command += ["--systems", job.system.name, "--seeds", str(job.seed), "--jobs", "1"]
    # Ctrl-C is for this process, which passes it on.
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )
    return process, log


def _stop(processes: Sequence[subprocess.Popen[bytes]], say: Callable[[str], None]) -> None:
    say(f"stopping {len(processes)} runs: each finishes its step and saves (Ctrl-C again: at once)")
    for process in processes:
        process.send_signal(signal.SIGTERM)
    try:
        for process in processes:
            process.wait()
    except BaseException:
        for process in processes:
            process.kill()
        raise
