"""All tasks, by name. A new task is a file that defines its entries and a line here."""

from __future__ import annotations

from btg_seq2seq.errors import UserError
from btg_seq2seq.options.wording import did_you_mean
from btg_seq2seq.tasks import svo_sov_files
from btg_seq2seq.tasks.corpora import (
    cherokee_english,
    english_chinese,
    english_japanese,
    german_english,
    ml50,
)
from btg_seq2seq.tasks.task import Task

TASKS: dict[str, Task] = {}


def register_task(task: Task) -> None:
    """Add a task."""
    if TASKS.setdefault(task.name, task) is not task:
        raise UserError(f"there is another task of the name {task.name!r}")


def find_task(name: str) -> Task:
    """Return the task of a name."""
    if name not in TASKS:
        hint = did_you_mean(name, TASKS)
        raise UserError(f"there is no task {name!r}{hint}; the tasks are {', '.join(TASKS)}")
    return TASKS[name]


for _module in (
    svo_sov_files,
    english_chinese,
    english_japanese,
    german_english,
    cherokee_english,
    ml50,
):
    for _task in _module.TASKS:
        register_task(_task)
