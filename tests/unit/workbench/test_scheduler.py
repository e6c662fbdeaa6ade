"""Batches of requests: shared, fair, bounded and finished."""

import asyncio
import threading
import time

import pytest

from btg_seq2seq.errors import SentenceError, UserError
from btg_seq2seq.workbench.limits import Limits
from btg_seq2seq.workbench.metrics import Metrics
from btg_seq2seq.workbench.scheduler import BusyError, ClosedError, Scheduler


class Work:
    """Squares numbers, once it is let go; remembers its batches."""

    def __init__(self, is_open=True):
        self.batches = []
        self.gate = threading.Event()
        if is_open:
            self.gate.set()

    def __call__(self, items):
        self.gate.wait(20)
        self.batches.append(list(items))
        for place, item in enumerate(items):
            if item is None:
                raise SentenceError(place, "there is none")
            if item == "bug":
                raise ZeroDivisionError
        return [item * item for item in items]


def run(test, **limits):
    async def main():
        scheduler = Scheduler(Limits(**{"deadline": 20.0, **limits}), Metrics())
        try:
            return await test(scheduler)
        finally:
            await asyncio.to_thread(scheduler.close)

    return asyncio.run(main())


async def until(condition):
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("nothing happened")


def test_requests_that_wait_share_a_batch():
    work = Work(is_open=False)

    async def test(scheduler):
        tasks = [asyncio.create_task(scheduler.run("flat", "k", work, [0]))]
        await until(lambda: scheduler.lanes["flat"].running)
        tasks += [asyncio.create_task(scheduler.run("flat", "k", work, [n])) for n in (1, 2, 3)]
        tasks.append(asyncio.create_task(scheduler.run("flat", "other", work, [4])))
        await until(lambda: scheduler.lanes["flat"].waiting == 4)
        work.gate.set()
        return await asyncio.gather(*tasks)

    assert run(test) == [[0], [1], [4], [9], [16]]
    assert work.batches == [[0], [1, 2, 3], [4]]


def test_clients_that_keep_coming_are_waited_for():
    work = Work(is_open=False)

    async def test(scheduler):
        lane = scheduler.lanes["flat"]
        lane.expected, lane.patience = 4, 20.0
        work.gate.set()
        tasks = []
        for number in range(4):
            tasks.append(asyncio.create_task(scheduler.run("flat", "k", work, [number])))
            await until(lambda: lane.waiting > number or work.batches)  # noqa: B023
        return await asyncio.gather(*tasks)

    assert run(test) == [[0], [1], [4], [9]]
    assert work.batches == [[0, 1, 2, 3]]


def test_clients_that_stay_away_are_not_waited_for():
    work = Work()

    async def test(scheduler):
        lane = scheduler.lanes["flat"]
        lane.expected, lane.patience = 4, 0.01
        return await scheduler.run("flat", "k", work, [3])

    assert run(test) == [9]


def test_a_long_request_does_not_hold_up_a_short_one():
    work = Work(is_open=False)
    finished = []

    async def test(scheduler):
        async def ask(name, items):
            result = await scheduler.run("flat", "k", work, items)
            finished.append(name)
            return result

        long = asyncio.create_task(ask("long", list(range(40))))
        await until(lambda: scheduler.lanes["flat"].running)
        short = asyncio.create_task(ask("short", [7]))
        await until(lambda: scheduler.lanes["flat"].waiting == 37)
        work.gate.set()
        assert await short == [49]
        return await long

    assert run(test, batch=4) == [number * number for number in range(40)]
    assert finished == ["short", "long"]
    assert max(map(len, work.batches)) <= 4


def test_one_request_that_fails_does_not_spoil_the_others():
    work = Work(is_open=False)

    async def test(scheduler):
        first = asyncio.create_task(scheduler.run("flat", "k", work, [0]))
        await until(lambda: scheduler.lanes["flat"].running)
        items = [[1], [2, None], ["bug"], [3]]
        tasks = [asyncio.create_task(scheduler.run("flat", "k", work, own)) for own in items]
        await until(lambda: scheduler.lanes["flat"].waiting == 5)
        work.gate.set()
        await first
        return await asyncio.gather(*tasks, return_exceptions=True)

    one, none, bug, three = run(test)
    assert (one, three) == ([1], [9])
    assert isinstance(none, UserError)
    assert none.sentence == 1
    assert isinstance(bug, ZeroDivisionError)


def test_errors_count_from_the_start_of_the_request():
    async def test(scheduler):
        with pytest.raises(SentenceError) as caught:
            await scheduler.run("flat", "k", Work(), [1, 2, 3, 4, 5, None])
        return caught.value.sentence

    assert run(test, batch=2) == 5


def test_a_full_queue_refuses_more():
    work = Work(is_open=False)

    async def test(scheduler):
        tasks = [asyncio.create_task(scheduler.run("flat", "k", work, [0]))]
        await until(lambda: scheduler.lanes["flat"].running)
        tasks.append(asyncio.create_task(scheduler.run("flat", "k", work, [1, 2, 3])))
        await until(lambda: scheduler.lanes["flat"].waiting == 3)
        with pytest.raises(BusyError) as caught:
            await scheduler.run("flat", "k", work, [4])
        assert caught.value.retry_after >= 1
        assert await scheduler.run("cky", "k", Work(), [5]) == [25]  # the other lane is free
        work.gate.set()
        await asyncio.gather(*tasks)

    run(test, waiting=3)


def test_a_request_larger_than_the_queue_is_taken_when_nothing_waits():
    async def test(scheduler):
        return await scheduler.run("flat", "k", Work(), [1, 2, 3])

    assert run(test, waiting=2) == [1, 4, 9]


def test_the_deadline():
    work = Work(is_open=False)

    async def test(scheduler):
        running = asyncio.create_task(scheduler.run("flat", "k", work, [0]))
        await until(lambda: scheduler.lanes["flat"].running)
        with pytest.raises(TimeoutError):
            await scheduler.run("flat", "k", work, [1, 2])
        with pytest.raises(TimeoutError):
            await running
        assert scheduler.lanes["flat"].waiting == 0
        work.gate.set()

    run(test, deadline=0.2)
    assert work.batches == [[0]]  # what nobody waits for is not computed


def test_closing_finishes_what_was_accepted():
    work = Work(is_open=False)

    async def test(scheduler):
        tasks = [asyncio.create_task(scheduler.run("flat", "k", work, [n])) for n in (1, 2)]
        await until(lambda: scheduler.lanes["flat"].running)
        closing = asyncio.create_task(asyncio.to_thread(scheduler.close))
        await until(lambda: scheduler.is_closed)
        with pytest.raises(ClosedError):
            await scheduler.run("flat", "k", work, [3])
        work.gate.set()
        await closing
        return await asyncio.gather(*tasks)

    assert run(test) == [[1], [4]]


def test_nothing_to_do():
    async def test(scheduler):
        return await scheduler.run("flat", "k", Work(), [])

    assert run(test) == []


def steps(scheduler, count, trace):
    """Work of many steps, before each of which flat requests may go first."""

    def work(items):
        for _ in range(count):
            scheduler.give_way()
            trace.append("cky")
            time.sleep(0.002)
        return list(items)

    return work


def test_cky_gives_way_to_flat():
    trace = []

    async def test(scheduler):
        slow = asyncio.create_task(scheduler.run("cky", "c", steps(scheduler, 500, trace), [1]))
        await until(lambda: len(trace) > 5)

        def flat(items):
            before = len(trace)
            time.sleep(0.1)
            trace.append(f"flat: {len(trace) - before} steps")
            return items

        await scheduler.run("flat", "f", flat, [1])
        await slow

    run(test)
    (during,) = (entry for entry in trace if entry.startswith("flat"))
    assert int(during.split()[1]) <= 2  # the step that was under way
    assert trace.count("cky") == 500


def test_cky_keeps_a_share_of_the_time():
    trace = []

    async def test(scheduler):
        is_done = False

        async def flood():
            while not is_done:
                await scheduler.run("flat", "f", lambda items: time.sleep(0.005) or items, [1])

        floods = [asyncio.create_task(flood()) for _ in range(3)]
        await asyncio.sleep(0.05)
        await scheduler.run("cky", "c", steps(scheduler, 50, trace), [1])
        is_done = True
        await asyncio.gather(*floods)

    run(test)
    assert trace.count("cky") == 50


def test_a_batch_that_nobody_waits_for_stops():
    trace = []

    async def test(scheduler):
        with pytest.raises(TimeoutError):
            await scheduler.run("cky", "c", steps(scheduler, 100_000, trace), [1])
        await until(lambda: not scheduler.lanes["cky"].is_busy)
        assert await scheduler.run("cky", "c", Work(), [3]) == [9]

    run(test, deadline=0.2)
    assert len(trace) < 50_000
