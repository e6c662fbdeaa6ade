"""All tasks, by name. A new task is a file that defines its entries and a line here."""

from __future__ import annotations

from btg_seq2seq.errors import UserError
from btg_seq2seq.tasks import svo_sov_files
from btg_seq2seq.tasks.task import Task

TASKS: dict[str, Task] = {}


def register_task(task: Task) -> None:
    """Add a task."""
    if TASKS.setdefault(task.name, task) is not task:
        raise UserError(f"there is another task of the name {task.name!r}")


for _task in (*svo_sov_files.TASKS,):
    register_task(_task)
