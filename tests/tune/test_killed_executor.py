"""An executor killed in the middle of a trial costs at most an epoch of it, and nothing else."""

from sparkdl.training.network import Network
from sparkdl.tune import Search
from tests.spark.slow import Fault, Slow, Trap, executor_of
from tests.support.waiting import gone, until
from tests.training.models import assert_equal
from tests.tune.spaces import GOOD, data, define, states, study_of

TRIALS, EPOCHS, MINIBATCHES = 4, 3, 6


def search(sc, transform, path):
    rates = [GOOD / 2**n for n in range(TRIALS)]
    options = {"epochs": EPOCHS, "batch_size": 10, "device": "cpu", "path": path}
    study = Search(sc, define, study_of(*rates), **options).fit(data(transform=transform), TRIALS)
    return study, [Network.load(path / f"trial-{n:05d}").state for n in range(TRIALS)]


def test_the_study_ends_with_all_trials_and_the_weights_of_the_undisturbed_one(sc, tmp_path):
    calm, trap = Slow(str(tmp_path / "calm")), Trap(str(tmp_path / "disturbed"), after=20)
    for transform in (calm, trap):
        (tmp_path / transform.folder).mkdir()
    undisturbed, expected = search(sc, calm, tmp_path / "first")
    assert len(calm.calls()) == TRIALS * EPOCHS * MINIBATCHES
    fault = Fault(trap, lambda process: executor_of(process).kill())
    fault.start()
    study, weights = search(sc, trap, tmp_path / "second")
    assert until(lambda: gone(fault.victim))
    assert states(study) == ["COMPLETE"] * TRIALS
    assert [trial.value for trial in study.trials] == [trial.value for trial in undisturbed.trials]
    for one, other in zip(weights, expected, strict=True):
        assert_equal(one, other)
    # Less than an epoch and what was prefetched is repeated.
    assert len(calm.calls()) < len(trap.calls()) <= len(calm.calls()) + MINIBATCHES
