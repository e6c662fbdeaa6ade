"""Requests of all clients, batched together and computed in two threads.

A request is a task with items, mostly sentences. Tasks of the same kind share batches: while one
batch is computed, the next one gathers. Each task gets its turn, so a long one does not hold up
the others.

There are two lanes, each with a thread: ``flat`` for flat translation, and ``cky`` for everything
that uses the grammar and takes longer. The cky lane gives way to the flat lane between steps of
the decoder (see ``give_way``), but keeps a share of the time for itself.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import torch

from btg_seq2seq.errors import SentenceError, UserError
from btg_seq2seq.workbench.limits import Limits
from btg_seq2seq.workbench.metrics import Metrics

LaneName = Literal["flat", "cky"]
Work = Callable[[Sequence[Any]], Sequence[Any]]

# Clients that were answered together mostly ask again together. So that the first of them do not
# get a small batch of their own, a lane waits for the others as long as they keep coming: for the
# next one up to this share of the time that the last batch took, and up to some seconds; for all of
# them up to this many times as long.
LINGER, LONGEST_LINGER, MOST_LINGERS = 0.05, 0.05, 5

# The cky lane waits for the flat lane up to this many times as long as it has computed, and longer
# by some seconds: a few flat requests never slow each other down.
PATIENCE, FIRST_PATIENCE = 4.0, 0.5

logger = logging.getLogger(__name__)


class BusyError(Exception):
    """Too many sentences wait; ``retry_after`` is the time in seconds until fewer will."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many sentences are waiting; try again in {retry_after} s")
        self.retry_after = retry_after


class ClosedError(Exception):
    """The server is shutting down."""


class Abandoned(BaseException):
    """Raised inside of a batch for which nobody waits any longer."""


@dataclass(eq=False)
class Task:
    """The items of one request; ``work`` turns any of the items with the same ``key`` to results.

    ``key`` says which tasks may share a batch.
    """

    key: Hashable
    work: Work
    items: Sequence[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[list[Any]]
    results: list[Any] = field(default_factory=list)
    taken: int = 0  # items that are in a batch, or done
    is_over: bool = False  # cancelled, failed or complete

    def finish(self, error: BaseException | None = None) -> None:
        """Deliver the results, or an error; the client may be gone."""
        self.is_over = True

        def deliver() -> None:
            if not self.future.done():
                if error is None:
                    self.future.set_result(self.results)
                else:
                    self.future.set_exception(error)

        try:
            self.loop.call_soon_threadsafe(deliver)
        except RuntimeError:
            logger.debug("the event loop was closed before an answer was ready")


Part = tuple[Task, int, int]  # items [begin, end) of a task


class Lane:
    """A queue of tasks and the thread that computes them."""

    def __init__(self, name: LaneName, scheduler: Scheduler) -> None:
        self.name, self.scheduler = name, scheduler
        self.tasks: deque[Task] = deque()
        self.running: list[Part] = []
        self.rate = 0.0  # items per second, recently
        self.paused = 0.0  # seconds, of the batch that is running
        self.begun = 0.0
        # Items of the last batch and those that waited when it ended; and the time in seconds to
        # wait for the next one.
        self.expected, self.patience = 0, 0.0
        self.thread = threading.Thread(target=self._run, name=f"btg-{name}", daemon=True)

    @property
    def waiting(self) -> int:
        """Number of items that no batch has taken yet."""
        return sum(len(task.items) - task.taken for task in self.tasks if not task.is_over)

    @property
    def is_busy(self) -> bool:
        """True if there is anything to do, or being done."""
        return bool(self.tasks or self.running)

    def next_batch(self) -> list[Part]:
        """Take items for a batch: of the first task, and of others with the same key."""
        while self.tasks and self.tasks[0].is_over:
            self.tasks.popleft()
        if not self.tasks:
            return []
        key, parts, later = self.tasks[0].key, [], deque[Task]()
        alike = sum(task.key == key and not task.is_over for task in self.tasks)
        room = self.scheduler.limits.batch
        share = max(1, room // alike)  # so that every task has its turn
        while self.tasks:
            task = self.tasks.popleft()
            if task.is_over:
                continue
            if task.key == key and room:
                begin = task.taken
                task.taken = min(len(task.items), begin + min(room, share))
                parts.append((task, begin, task.taken))
                room -= task.taken - begin
            if task.taken < len(task.items):
                later.append(task)
        # Tasks that had their turn go behind those that had not.
        had = {id(task) for task, _, _ in parts}
        self.tasks.extend(task for task in later if id(task) not in had)
        self.tasks.extend(task for task in later if id(task) in had)
        return parts

    def _run(self) -> None:
        torch.set_num_threads(self.scheduler.threads)  # of this thread: each lane has its own
        changed = self.scheduler.changed
        while True:
            with changed:
                changed.wait_for(lambda: self.tasks or self.scheduler.is_closed)
                if not self.tasks:
                    return
                self._linger()
                self.running = self.next_batch()
                self.begun, self.paused = time.monotonic(), 0.0
                changed.notify_all()
            try:
                self._compute(self.running)
            except BaseException as error:
                logger.exception("a batch failed")
                for task, _, _ in self.running:
                    task.finish(error)
            with changed:
                self._take_note()
                self.running = []
                changed.notify_all()

    def _linger(self) -> None:
        """Wait for those that are expected, as long as they keep coming."""
        end = time.monotonic() + MOST_LINGERS * self.patience
        before = -1
        while before < self.waiting < self.expected and not self.scheduler.is_closed:
            before = self.waiting
            left = min(self.patience, end - time.monotonic())
            self.scheduler.changed.wait_for(lambda: self.waiting > before, left)  # noqa: B023

    def _take_note(self) -> None:
        """Remember how long the batch took, and how many may ask again."""
        count = sum(end - begin for _, begin, end in self.running)
        seconds = max(1e-3, time.monotonic() - self.begun)
        if count:
            rate = count / seconds
            self.rate = rate if not self.rate else 0.8 * self.rate + 0.2 * rate
        answered = sum(end - begin for task, begin, end in self.running if task.is_over)
        self.expected = min(answered + self.waiting, self.scheduler.limits.batch)
        self.patience = min(LINGER * seconds, LONGEST_LINGER)

    def _compute(self, parts: Sequence[Part]) -> None:
        if not parts:
            return
        items = [item for task, begin, end in parts for item in task.items[begin:end]]
        self.scheduler.metrics.batch_size.labels(self.name).observe(len(items))
        try:
            results = parts[0][0].work(items)
        except Abandoned:
            return
        except Exception as error:
            if len(parts) > 1:  # one of the tasks is at fault: each alone
                for part in parts:
                    self._compute([part])
            else:
                task, begin, _ = parts[0]
                task.finish(_placed(error, begin))
            return
        self.scheduler.metrics.sentences.labels(self.name).inc(len(items))
        first = 0
        for task, begin, end in parts:
            task.results += results[first : first + end - begin]
            first += end - begin
            if end == len(task.items):
                task.finish()


class Scheduler:
    """Both lanes; ``threads`` is the number of threads that each computes with."""

    def __init__(self, limits: Limits, metrics: Metrics, threads: int = 1) -> None:
        self.limits, self.metrics, self.threads = limits, metrics, threads
        self.changed = threading.Condition()
        self.is_closed = False
        self.lanes: dict[LaneName, Lane] = {"flat": Lane("flat", self), "cky": Lane("cky", self)}
        for name, lane in self.lanes.items():
            metrics.waiting.labels(name).set_function(partial(getattr, lane, "waiting"))
            lane.thread.start()

    async def run(self, lane: LaneName, key: Hashable, work: Work, items: Sequence[Any]) -> Any:
        """Compute the result of every item, in a batch with those of other requests.

        ``BusyError`` if too many are waiting; ``TimeoutError`` after the deadline.
        """
        if not items:
            return []
        loop = asyncio.get_running_loop()
        task = Task(key, work, items, loop, loop.create_future())
        with self.changed:
            if self.is_closed:
                raise ClosedError("the server is shutting down")
            own = self.lanes[lane]
            if own.waiting + len(items) > self.limits.waiting and own.waiting:
                raise BusyError(self.retry_after(own))
            own.tasks.append(task)
            self.changed.notify_all()
        try:
            async with asyncio.timeout(self.limits.deadline):
                return await task.future
        finally:
            task.is_over = True  # also if the client is gone

    def retry_after(self, lane: Lane) -> int:
        """Estimate the seconds until half of what is waiting is done."""
        seconds = lane.waiting / 2 / lane.rate if lane.rate else 1.0
        return max(1, min(round(seconds), int(self.limits.deadline) or 1))

    def give_way(self, *_: Any) -> None:
        """Let flat requests go first; models call this before each step of the decoder.

        Only the thread of the cky lane waits. It stops if nobody waits for its batch any longer.
        """
        own, flat = self.lanes["cky"], self.lanes["flat"]
        if threading.current_thread() is not own.thread:
            return
        if own.running and all(task.is_over for task, _, _ in own.running):
            raise Abandoned
        if not flat.is_busy:
            return
        with self.changed:
            now = time.monotonic()
            worked = now - own.begun - own.paused
            patience = FIRST_PATIENCE + PATIENCE * worked - own.paused
            if patience > 0:
                self.changed.wait_for(lambda: not flat.is_busy or self.is_closed, patience)
                own.paused += time.monotonic() - now

    def close(self) -> None:
        """Finish what is waiting, and end the threads."""
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()
        for lane in self.lanes.values():
            lane.thread.join()


def _placed(error: Exception, begin: int) -> Exception:
    """Return the error; sentences are counted from the start of the request."""
    if isinstance(error, SentenceError):
        return SentenceError(begin + error.sentence, error.reason)
    if not isinstance(error, UserError):
        logger.error("a request failed", exc_info=error)
    return error
