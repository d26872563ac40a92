"""What a search asks Optuna and reports to it, without Spark."""

import optuna
import pytest

from sparkdl.errors import ConfigError, DivergedError, WorkerError
from sparkdl.tune.study_run import StudyRun
from sparkdl.tune.trial_task import TrialResult
from tests.tune.spaces import GOOD, POOR, conf_of, define, states, study_of

DEFAULTS = {"epochs": 2, "batch_size": 8}


def run_of(study, trials=3, space=define):
    run = StudyRun(optuna, study, space, DEFAULTS, trials)
    run.take_up()
    return run


def result(value=1.0, pruned=False):
    return TrialResult(value, pruned, None, 2.0, "here")


def rate(candidate):
    return candidate.conf.optimizer.learning_rate


def test_trials_are_told_how_they_ended():
    study = study_of(GOOD, POOR, GOOD)
    run = run_of(study)
    taken = [run.next() for _ in range(3)]
    assert [(number, rate(candidate)) for number, candidate in taken] == [
        (0, GOOD),
        (1, POOR),
        (2, GOOD),
    ]
    assert run.next() is None
    assert taken[0][1].epochs == 2 and taken[0][1].batch_size == 8
    run.end(0, result(0.5))
    assert run.judge(1, 1, 3.0)
    run.end(1, result(3.0, pruned=True))
    run.fail(2, DivergedError("loss nan"))
    assert states(study) == ["COMPLETE", "PRUNED", "FAIL"]
    assert study.trials[0].user_attrs == {"sparkdl": True, "seconds": 2.0, "host": "here"}
    assert study.trials[2].user_attrs["reason"] == "DivergedError: loss nan"
    run.require_some()
    assert run_of(study).next() is None  # all three trials count


def test_a_figure_that_is_reported_twice_counts_once():
    """A restarted task reports again, for which Optuna would warn."""
    study = study_of(GOOD)
    run = run_of(study)
    number, _ = run.next()
    assert run.judge(number, 1, 0.5) and run.judge(number, 1, 0.5)
    assert study.trials[0].intermediate_values == {1: 0.5}


def test_what_was_interrupted_is_run_again_with_the_same_values():
    study = study_of(GOOD, POOR)
    run = run_of(study)
    for _ in range(2):
        run.next()
    run.end(0, result())
    run.close()
    run.fail(1, WorkerError("cancelled"))  # not a failure of the trial
    assert run.next() is None
    run.take_up()
    assert states(study) == ["COMPLETE", "FAIL", "WAITING"]
    number, candidate = run.next()
    assert (number, rate(candidate)) == (2, POOR)
    assert run.next() is not None and run.next() is None  # one of the three is finished


def test_trials_of_others_are_left_alone():
    study = study_of()
    others = study.ask()
    run_of(study)
    assert states(study) == ["RUNNING"]
    study.tell(others, 1.0)


def test_an_error_of_define_is_the_caller_s_and_its_trial_has_failed():
    def broken(trial):
        raise KeyError("units")

    study = study_of()
    with pytest.raises(KeyError):
        run_of(study, space=broken).next()
    assert study.trials[0].user_attrs["reason"] == "KeyError: 'units'"


def test_a_trial_that_is_interrupted_in_define_is_run_again():
    """It counted as failed, so a search that went on had one trial less."""

    def interrupted(trial):
        trial.suggest_float("rate", 1e-7, 1e30)
        raise KeyboardInterrupt

    study = study_of(POOR)
    run = run_of(study, 1, interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.next()
    run.take_up()
    number, candidate = run_of(study, 1).next()
    assert (number, rate(candidate)) == (1, POOR)
    assert states(study) == ["FAIL", "RUNNING"]


def test_define_may_prune():
    def picky(trial):
        if trial.suggest_float("rate", 1e-7, 1e30) == POOR:
            raise optuna.TrialPruned
        return conf_of(GOOD), {"epochs": 7}

    study = study_of(POOR, GOOD)
    number, candidate = run_of(study, 2, picky).next()
    assert (number, candidate.epochs, candidate.batch_size) == (1, 7, 8)
    assert states(study) == ["PRUNED", "RUNNING"]


def test_networks_of_other_records_are_refused():
    run = run_of(study_of(GOOD, GOOD))
    run.require_data_of(conf_of(GOOD, units=5), transform=None)
    with pytest.raises(ConfigError, match="define must return networks of the same inputs"):
        run.next()


def test_a_study_of_failures_alone_is_an_error():
    run = run_of(study_of(GOOD), 1)
    run.fail(run.next()[0], DivergedError("loss nan"))
    with pytest.raises(WorkerError, match="all 1 trials have failed; trial 0: DivergedError: loss"):
        run.require_some()


def test_a_grid_is_gone_through():
    sampler = optuna.samplers.GridSampler({"rate": [GOOD, POOR]}, seed=0)
    study = optuna.create_study(sampler=sampler)
    run = run_of(study, 2)
    for _ in range(2):
        run.end(run.next()[0], result())
    assert sorted(trial.params["rate"] for trial in study.trials) == [POOR, GOOD]


def test_hyperband_prunes():
    study = study_of(GOOD, POOR)
    study.pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=4)
    run, verdicts = run_of(study, 8), []
    for value in range(8):
        number, _ = run.next()
        steps = [run.judge(number, step, float(value)) for step in range(1, 5)]
        verdicts.append(all(steps))
        run.end(number, result(float(value), pruned=not all(steps)))
    assert verdicts[0] and not all(verdicts)


def test_after_as_many_epochs_as_warmup_steps_a_trial_may_end():
    study = study_of(GOOD, POOR)
    study.pruner = optuna.pruners.MedianPruner(n_startup_trials=1, n_warmup_steps=3)
    run, verdicts = run_of(study, 2), []
    for value in (1.0, 2.0):
        number, _ = run.next()
        verdicts.append([run.judge(number, epochs, value) for epochs in range(1, 5)])
        run.end(number, result(value))
    assert verdicts == [[True] * 4, [True, True, False, False]]
