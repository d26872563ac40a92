"""Exchange with Optuna during a search: asks for trials, and tells their results.

Samplers, pruners and the storage are Optuna's; only one thread at a time calls it.
"""

import logging
from functools import partial
from threading import Lock

from sparkdl.errors import WorkerError
from sparkdl.tune.candidate import candidate_of, check_same_data

log = logging.getLogger(__name__)
OURS, REASON = "sparkdl", "reason"


class StudyRun:
    """The trials that a study has yet to run, up to a total number.

    Parameters
    ----------
    optuna : module
    study : optuna.Study
    define : function (optuna.Trial) -> conf, or (conf, options)
    defaults : {str: int}
        Of the options.
    trials : int
        Number of trials that the study should have in the end, including pruned and failed ones.
    """

    def __init__(self, optuna, study, define, defaults, trials):
        self._states, self._pruned = optuna.trial.TrialState, optuna.TrialPruned
        self.study, self._define, self._defaults = study, define, defaults
        self._running, self._lock = {}, Lock()
        self._trials, self._left, self._check = trials, 0, lambda conf: None

    def finished(self):
        """Returns the trials that count, without interrupted ones that are run again."""
        known = self.study.get_trials(deepcopy=False)
        return [trial for trial in known if trial.state.is_finished() and not self._is_cut(trial)]

    def next(self):
        """Returns (number, Candidate) of the next trial, None if there are enough.

        Errors of `define` other than optuna.TrialPruned are raised. A trial that Ctrl-C interrupts
        has not failed: it counts as running, see `take_up`.
        """
        with self._lock:
            while self._left:
                self._left -= 1
                trial = self.study.ask()
                trial.set_user_attr(OURS, True)
                try:
                    candidate = candidate_of(self._define(trial), self._defaults)
                    self._check(candidate.conf)
                except self._pruned:
                    self._tell(trial.number, state=self._states.PRUNED)
                    continue
                except Exception as error:
                    self._tell_failed(trial, error)
                    raise
                self._running[trial.number] = trial
                return trial.number, candidate
            return None

    def require_data_of(self, conf, transform):
        """Makes `next` refuse networks that do not take the records of this one."""
        self._check = partial(check_same_data, first=conf, transform=transform)

    def judge(self, number, step, value):
        """Records a trial's figure after this many epochs; returns whether the trial continues."""
        with self._lock:
            trial = self._running[number]
            frozen = self.study.get_trials(deepcopy=False)[number]
            if step not in frozen.intermediate_values:  # a lost task may have reported it
                trial.report(value, step)
            return not trial.should_prune()

    def end(self, number, result):
        """Records a TrialResult."""
        with self._lock:
            trial = self._running.pop(number)
            trial.set_user_attr("seconds", result.seconds)
            trial.set_user_attr("host", result.host)
            if result.pruned:
                self._tell(trial.number, state=self._states.PRUNED)
            else:
                self._tell(trial.number, result.value)

    def fail(self, number, error):
        """Records that a trial has failed; the study continues."""
        with self._lock:
            if self._left is None:  # it was cancelled and will be rerun
                return
            self._tell_failed(self._running.pop(number), error)
        log.warning("trial %d has failed: %s", number, error)

    def close(self):
        """Starts no more trials; running ones count as interrupted."""
        with self._lock:
            self._left = None

    def take_up(self):
        """Enqueues unfinished trials again with the same values, and counts the missing ones."""
        with self._lock:
            for trial in self.study.get_trials(deepcopy=False, states=[self._states.RUNNING]):
                if OURS in trial.user_attrs:
                    self.study.enqueue_trial(trial.params)
                    self._tell(trial.number, state=self._states.FAIL)
            self._running.clear()
            self._left = max(0, self._trials - len(self.finished()))

    def require_some(self):
        """Raises WorkerError if all trials have failed."""
        finished = self.finished()
        if finished and all(trial.state == self._states.FAIL for trial in finished):
            reason = finished[0].user_attrs.get(REASON, "no reason given")
            raise WorkerError(
                f"all {len(finished)} trials have failed; trial {finished[0].number}: {reason}"
            )

    def _tell(self, number, value=None, state=None):
        """Tells the study the end of a trial; a sampler may then have nothing left to propose.

        Such a sampler, like that of a grid, calls Study.stop, which raises outside of optimize.
        """
        try:
            self.study.tell(number, value, state)
        except RuntimeError:
            if not self.study.get_trials(deepcopy=False)[number].state.is_finished():
                raise
            self._left = self._left and 0

    def _is_cut(self, trial):
        """Returns whether a trial failed without a reason: the driver or search was ended."""
        attributes = trial.user_attrs
        return trial.state == self._states.FAIL and OURS in attributes and REASON not in attributes

    def _tell_failed(self, trial, error):
        kind = type(error).__name__
        trial.set_user_attr(REASON, f"{kind}: {error}")
        self._tell(trial.number, state=self._states.FAIL)
