"""All tasks, by name. A new task is a file that defines its entries and a line here."""

from __future__ import annotations

from btg_seq2seq.tasks import svo_sov_files
from btg_seq2seq.tasks.corpora import (
    cherokee_english,
    english_chinese,
    english_japanese,
    german_english,
    ml50,
)
from btg_seq2seq.tasks.named import Named
from btg_seq2seq.tasks.task import Task

TASKS: Named[Task] = Named("task")
register_task, find_task = TASKS.register, TASKS.find

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
