"""All systems and seeds of a task: what is missing is run, compared, and reported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from btg_seq2seq.errors import UserError
from btg_seq2seq.tasks.reproduction.comparing import compare
from btg_seq2seq.tasks.reproduction.jobs import run_side_by_side
from btg_seq2seq.tasks.reproduction.page import write_page
from btg_seq2seq.tasks.reproduction.results import Job
from btg_seq2seq.tasks.reproduction.run import Place, is_done, remove, run, test_sets
from btg_seq2seq.tasks.systems import BASELINE, PRETRAINED_BASELINE, SYSTEMS, System
from btg_seq2seq.tasks.task import Task


def reproduce(
    task: Task,
    systems: Sequence[System],
    seeds: Sequence[int],
    place: Place,
    page: Path,
    *,
    overwrite: bool = False,
    at_once: int = 1,
    arguments: Sequence[str] = (),
) -> None:
    """Run every system for every seed, and write the page of results.

    ``overwrite`` removes all of these runs before the first begins, so that the same command
    without it goes on after an interruption. ``arguments`` are those of the command for processes
    side by side.
    """
    # The baseline first: the others are compared with it.
    ordered = sorted(systems, key=lambda one: list(SYSTEMS).index(one.name))
    jobs = [Job(task, system, seed) for seed in seeds for system in ordered]
    if overwrite:
        for job in jobs:
            remove(job, place)
        place.say("removed what these runs had done; without --overwrite, they are continued")
    missing = [job for job in jobs if not is_done(job, place)]
    for seed in seeds:  # refuses a baseline of other settings, which is compared with these runs
        is_done(Job(task, SYSTEMS[BASELINE], seed), place)
    for job in jobs:
        if job not in missing:
            place.say(f"{job}: done before")
    failed: list[Job] = []
    if at_once > 1 and len(missing) > 1:
        failed = run_side_by_side(missing, at_once, arguments, place.output, place.say)
    else:
        for number, job in enumerate(missing, 1):
            place.say(f"{job}: run {number} of {len(missing)}, in {job.directory(place.output)}")
            run(job, place)
    compare_all(task, seeds, place)
    write_page(place.results, page)
    place.say(f"results: {place.results / task.name}; page: {page}")
    if failed:
        names = ", ".join(job.name for job in failed)
        raise UserError(f"{len(failed)} of {len(missing)} runs failed ({names}): see their logs")


def compare_all(task: Task, seeds: Sequence[int], place: Place) -> None:
    """Add p-values to all results of these seeds: the baseline may have been replaced."""
    for seed in seeds:
        sets = test_sets(task.bitexts(place.data, seed, unchecked=place.unchecked))
        judges = {name: make(place.data) for name, make in task.judges.items()}
        for system in SYSTEMS.values():
            job = Job(task, system, seed)
            for baseline in (BASELINE, *[PRETRAINED_BASELINE] * bool(system.phrase_pairs)):
                compare(job, place.output, place.results, sets, judges, baseline)
