"""Jobs that get no slot: their messages and how they end."""

from types import SimpleNamespace

import pytest
from pyspark import InheritableThread

from sparkdl.errors import ConfigError, NoSlots, WorkerError
from sparkdl.spark.jobs import job_watch, slots, waiting
from sparkdl.spark.jobs.job import job
from sparkdl.spark.jobs.one_call import one_call
from tests.support.held_slots import held_slots, impatient_jobs
from tests.support.waiting import until

READING = "records to blocks"


@pytest.fixture
def impatient(sc, monkeypatch):
    """Returns a function that sets how long jobs wait for slots; it starts at 100 s."""
    with impatient_jobs(sc, monkeypatch) as limit:
        yield limit


def count(sc, takes_turns=False):
    with job(sc, READING, "reading the data", takes_turns=takes_turns):
        return sc.parallelize([1, 2, 3], 2).count()


def test_a_job_without_slots_says_so_and_ends(sc, impatient, caplog):
    with held_slots(sc):
        impatient("1s")
        with pytest.raises(NoSlots, match=rf"'{READING}' has started within \d+ s") as error:
            count(sc)
        for said in (str(error.value), caplog.text):
            assert "2 slots, of which 2 are taken; 2 executors of 2" in said
            assert "other jobs hold all slots: end them, add executors, or raise" in said
    assert caplog.text.count("no task of") == 1
    assert count(sc) == 3


def test_a_job_that_gets_its_slots_goes_on(sc, impatient, caplog):
    counted = []
    with held_slots(sc):
        late = InheritableThread(target=lambda: counted.append(count(sc)), daemon=True)
        late.start()
        assert until(lambda: f"no task of '{READING}' has started" in caplog.text, 60)
    late.join(60)
    assert counted == [3]


def test_a_job_that_takes_turns_awaits_its_own_without_a_warning(
    sc, impatient, monkeypatch, caplog
):
    """As trials of a search do, of which more run at once than there are slots."""
    counted, answers = [], []
    asked = waiting.our_running_jobs

    def ask(sc):
        answers.append(bool(found := list(asked(sc))))
        return found

    monkeypatch.setattr(waiting, "our_running_jobs", ask)
    with held_slots(sc, description=READING):
        late = InheritableThread(target=lambda: counted.append(count(sc, True)), daemon=True)
        late.start()
        assert until(lambda: len(answers) > 2, 60) and answers[:3] == [True] * 3
        assert not caplog.text
    late.join(60)
    assert counted == [3]


def test_a_job_awaits_those_of_another_call_and_names_them_once(sc, impatient, caplog):
    """As a fit awaits that of another thread."""
    counted = []

    def call():
        with one_call(sc):
            counted.append(count(sc))

    with held_slots(sc, description="2 workers that train together"):
        late = InheritableThread(target=call, daemon=True)
        late.start()
        assert until(lambda: "waits for slots until" in caplog.text, 60)
        [record] = caplog.records
        name = "'2 workers that train together', has ended"
        assert record.getMessage().startswith(f"'{READING}' waits for slots until job ")
        assert record.getMessage().endswith(f"of this driver, {name}")
    late.join(60)
    assert counted == [3]


def test_a_job_outside_of_calls_awaits_no_other(sc, impatient):
    """As the diagnosis of a cluster, whose news is that slots are taken."""
    impatient("1s")
    with held_slots(sc, description="2 workers that train together"):
        with pytest.raises(NoSlots, match="other jobs hold all slots"):
            count(sc)


def test_a_call_does_not_await_itself(sc, impatient):
    """As a fit whose workers hold all slots until the driver has evaluated."""
    impatient("1s")
    with one_call(sc), held_slots(sc, description="2 workers that train together"):
        with pytest.raises(NoSlots, match="no task of"):
            count(sc)


@pytest.mark.parametrize(
    ("running", "is_one", "told"),
    [
        ([[0], [0], [0]], False, True),
        ([[0], [1], [0]], False, False),
        ([[0], [], [0]], False, False),  # the driver computes between two jobs
        ([[], [], []], False, False),
        ([[], [], []], True, True),  # a barrier stage that lacks slots
        ([[], [1], []], True, False),
        ([[0, 1], [0, 1], [0, 1]], False, False),  # jobs with one description take turns
    ],
)
def test_only_time_without_a_task_counts(running, is_one, told, monkeypatch):
    clock = iter(range(0, 100, 10))
    wait = waiting.SlotWait.__new__(waiting.SlotWait)
    wait._sc, wait._description, wait._limit = None, "a job", 100.0
    wait._since, wait._turn, wait._is_told, wait._is_one = 0.0, 0.0, False, is_one
    wait._takes_turns, wait._own_tags = False, set()
    monkeypatch.setattr(waiting.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(waiting, "cluster_state", lambda sc: "")
    monkeypatch.setattr(waiting, "cure", lambda sc: "")
    monkeypatch.setattr(waiting, "runs_task", lambda sc, jobs: False)
    monkeypatch.setattr(waiting, "our_running_jobs", lambda sc: [])
    for tasks in running:
        jobs = [SimpleNamespace(numActiveTasks=lambda count=count: count) for count in tasks]
        assert wait.look(jobs) is None
    assert wait._is_told == told


@pytest.mark.parametrize("takes_turns", [True, False])
def test_the_limit_counts_from_the_last_task_of_another_job_of_ours(takes_turns, monkeypatch):
    clock, ours = iter(range(0, 1000, 50)), [*[[of_call("other")]] * 3, [], [], []]
    monkeypatch.setattr(waiting.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(waiting, "time_limit", lambda sc: 120.0)
    for name in ("cluster_state", "cure"):
        monkeypatch.setattr(waiting, name, lambda sc: "")
    monkeypatch.setattr(waiting, "runs_task", lambda sc, jobs: False)
    monkeypatch.setattr(waiting, "our_running_jobs", lambda sc: ours.pop(0))
    monkeypatch.setattr(waiting, "job_tags", lambda job: job.tags)
    monkeypatch.setattr(waiting, "call_tags", lambda sc: {"own"})
    wait = waiting.SlotWait(None, "a job", takes_turns=takes_turns)
    job, queued = SimpleNamespace(numActiveTasks=lambda: 0), []
    ends = [(wait.look([job]), queued.append(wait.is_queued))[0] for _ in range(6)]
    assert queued == [True] * 3 + [False] * 3
    assert ends[:5] == [None] * 5 and "within 300 s" in str(ends[5])


def of_call(*tags):
    """Returns Spark's data about a job of calls with these tags."""
    description = SimpleNamespace(isDefined=lambda: True, get=lambda: "sparkdl: a round")
    return SimpleNamespace(tags=set(tags), jobId=lambda: 7, description=lambda: description)


# Tags of the waiting job's calls, whether it is a trial, and running jobs of ours: does it wait?
AWAITED = [
    ({"own"}, False, [], False),
    ({"own"}, False, [of_call("other")], True),
    ({"own", "enclosing"}, False, [of_call("other")], True),
    ({"own"}, False, [of_call("own")], False),
    ({"own"}, False, [of_call("other"), of_call("own")], False),  # the other may wait for it
    ({"own", "enclosing"}, False, [of_call("other"), of_call("enclosing")], False),
    (set(), False, [of_call("other")], False),  # a diagnosis reports that slots are taken
    ({"own"}, True, [of_call("own")], True),
    (set(), True, [of_call("other")], True),
]


@pytest.mark.parametrize("own, is_trial, running, waits", AWAITED)
def test_a_job_awaits_others_of_ours_if_its_own_call_holds_no_slots(
    own, is_trial, running, waits, monkeypatch
):
    monkeypatch.setattr(waiting, "time_limit", lambda sc: 120.0)
    monkeypatch.setattr(waiting, "call_tags", lambda sc: own)
    monkeypatch.setattr(waiting, "job_tags", lambda job: job.tags)
    monkeypatch.setattr(waiting, "our_running_jobs", lambda sc: running)
    wait = waiting.SlotWait(None, "a job", takes_turns=is_trial)
    wait._await_turn(1000.0)
    assert (wait.is_queued, wait._turn == 1000.0) == (waits, waits)


def test_a_job_names_what_it_awaits_and_then_what_the_cluster_lacks(monkeypatch, caplog):
    clock, running = iter(range(0, 1000, 20)), [[of_call("other")], [], []]
    monkeypatch.setattr(waiting.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(waiting, "time_limit", lambda sc: 100.0)
    monkeypatch.setattr(waiting, "call_tags", lambda sc: {"own"})
    monkeypatch.setattr(waiting, "job_tags", lambda job: job.tags)
    monkeypatch.setattr(waiting, "our_running_jobs", lambda sc: running.pop(0))
    monkeypatch.setattr(waiting, "cluster_state", lambda sc: "the cluster has 2 slots")
    monkeypatch.setattr(waiting, "cure", lambda sc: "add executors")
    monkeypatch.setattr(waiting, "runs_task", lambda sc, jobs: False)
    wait = waiting.SlotWait(None, "a job", is_one=True)
    for _ in range(3):
        assert wait.look([]) is None
    first, second = [record.getMessage() for record in caplog.records]
    assert first == "'a job' waits for slots until job 7 of this driver, 'a round', has ended"
    assert second.startswith("no task of 'a job' has started") and "add executors" in second


def test_a_task_that_spark_has_not_told_of_counts(sc, impatient):
    """Spark's job data may lag behind by the executors' heartbeat interval."""
    with held_slots(sc):
        [held] = job_watch.running_jobs(sc)
        stale = SimpleNamespace(numActiveTasks=lambda: 0, stageIds=held.stageIds)
        wait = waiting.SlotWait(sc, "a job")
        wait._since = wait._turn = wait._since - 1000.0
        assert wait.look([stale]) is None
        names = [name for name, _ in slots.live_executors(sc)]
        assert slots.running_tasks(sc, names) == dict.fromkeys(names, 1)
    wait._since = wait._turn = wait._since - 1000.0
    assert isinstance(wait.look([stale]), NoSlots)
    assert slots.running_tasks(sc, names) == dict.fromkeys(names, 0)


# Slots left and active tasks at looks PATIENCE apart, and whether the last one gives an error.
LEFT = [
    ([(1, 0), (1, 0)], True),
    ([(2, 0), (1, 0), (1, 0)], True),
    ([(1, 0), (2, 0), (1, 0)], True),
    ([(1, 0), (2, 0)], False),
    ([(0, 0), (0, 0)], False),  # all executors may come back
    ([(1, 1), (1, 1)], False),  # they have begun, so Spark itself reports a loss
]


@pytest.mark.parametrize("looks, ends", LEFT)
def test_workers_that_cannot_begin_are_told_how_many_slots_are_left(looks, ends, monkeypatch):
    clock, left = iter(range(0, 1000, int(waiting.PATIENCE))), [count for count, _ in looks]
    monkeypatch.setattr(waiting.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(waiting, "concurrent_tasks", lambda sc, resources: left.pop(0))
    monkeypatch.setattr(waiting, "runs_task", lambda sc, jobs: False)
    for name in ("executors", "executors_wanted"):
        monkeypatch.setattr(waiting, name, lambda sc: 2)
    wait = waiting.FewerSlots(None, 2)
    *_, last = [wait.look([SimpleNamespace(numActiveTasks=lambda n=n: n)]) for _, n in looks]
    assert (last is not None) == ends
    if ends:
        assert isinstance(last, WorkerError) and "1 slot left" in str(last)


@pytest.mark.parametrize("there, looks", [(1, 2), (2, 1)])
def test_workers_that_cannot_begin_wait_longer_if_another_executor_may_come(
    there, looks, monkeypatch
):
    """The limits are one and two times the interval of looks."""
    clock = iter(range(0, 1000, int(waiting.PATIENCE)))
    monkeypatch.setattr(waiting.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(waiting, "concurrent_tasks", lambda sc, resources: 1)
    monkeypatch.setattr(waiting, "runs_task", lambda sc, jobs: False)
    monkeypatch.setattr(waiting, "executors", lambda sc: there)
    monkeypatch.setattr(waiting, "executors_wanted", lambda sc: 2)
    wait = waiting.FewerSlots(None, 2)
    assert [wait.look([]) is None for _ in range(looks)] == [True] * (looks - 1) + [False]


def test_a_time_that_is_none_is_refused(sc, impatient):
    impatient("soon")
    with pytest.raises(ConfigError, match="spark.sparkdl.slotTimeout must be a time .* got soon"):
        count(sc)


@pytest.mark.parametrize(
    ("slot_count", "taken", "says"),
    [(0, 0, "no executor has started"), (2, 2, "hold all slots"), (4, 1, "spark.driver.memory")],
)
def test_the_cure_fits_what_there_is(slot_count, taken, says, monkeypatch):
    monkeypatch.setattr(waiting, "concurrent_tasks", lambda sc: slot_count)
    monkeypatch.setattr(waiting, "active_tasks", lambda sc: taken)
    assert says in waiting.cure(None)
