"""How a fit continues an earlier one: at which place in the data, with which workers' states."""

import json
import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sparkdl.errors import CheckpointError, count_of
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.resident.per_worker_state import redistribute_worker_states
from sparkdl.training.resident.schedule import schedule_of
from sparkdl.training.rounds.milestones import Milestones
from sparkdl.training.rounds.round_part import locate_update

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Continuation:
    """Compares a fit with an earlier one, and finds where it starts.

    Parameters
    ----------
    changes : tuple of str
        What is applied to the records.
    """

    master: TrainingMaster
    workers: Any
    marks: Milestones
    changes: tuple[str, ...] = ()

    def locate(self, blocks, state):
        """Returns the state at the place in the data that a fit reaches after as many updates.

        For states that come with no other counter than their number of updates.
        """
        if not state.iteration:
            return state
        if self.master.resident:
            plan = schedule_of(blocks, self.workers, state, {}).rounds
        else:
            plan = partial(self._plan_of_driver, blocks, state)
        marks = replace(self.marks, last=state.iteration)
        return locate_update(state, plan, blocks.sizes, self.master, marks)

    def _plan_of_driver(self, blocks, state, epoch):
        return self.master.plan(self.workers, blocks, replace(state, epoch=epoch))

    def enter(self, blocks, state):
        """Returns the initial state of a fit that is not resumed.

        A place inside an epoch is valid only for the same rounds: otherwise the next epoch begins,
        so that no record of the new rounds is left out.
        """
        if state.starts_epoch or state.place == self.place(blocks):
            return state
        log.info(
            "the previous fit ended inside epoch %d, whose rounds were different: epoch %d begins",
            state.epoch + 1,
            state.epoch + 2,
        )
        return replace(state, epoch=state.epoch + 1, round=0, done=0)

    def place(self, blocks):
        """Returns a text that is the same whenever an epoch's rounds have the same records.

        The contents of records are not compared.
        """
        return json.dumps({**self.fingerprint(blocks), "marks": None})  # marks only cut rounds

    def fingerprint(self, blocks):
        """Returns the settings that a resumed run must share with the interrupted one."""
        sizes = blocks.sizes
        data = {"workers": self.workers.size, "records": sum(sizes), "blocks": len(sizes)}
        data |= {"changes": [*self.changes], "marks": self.marks.identity()}
        return {"master": type(self.master).__name__} | self.master.identity() | data

    def check(self, blocks, extra, resume):
        """Raises CheckpointError if data, master or workers differ from the checkpoint's."""
        path = "the last fit" if resume is True else resume
        if "first_epoch" not in extra:
            raise CheckpointError(
                f"{path} is a saved model, not a checkpoint of a fit; load it and fit it"
            )
        for name, now in self.fingerprint(blocks).items():
            then = extra.get(name)
            if then != now:
                raise CheckpointError(
                    f"{path} was written with {name} {then}, this fit has {now}; resumed, it "
                    "would not give the same weights: use the same, or load the model and fit it"
                )

    def restore_worker_states(self, state, resumed):
        """Returns the state with the worker states that this fit starts from."""
        owner, worker_states = self.master.owner(), state.worker_states
        if worker_states and not resumed and state.owner != owner:
            log.warning(
                "workers start without the worker states of the last fit, which are of another "
                "master (%s, now %s)",
                state.owner,
                owner,
            )
            worker_states = ()
        if resumed and len(worker_states) not in (0, self.workers.size):
            raise CheckpointError(
                "the checkpoint holds the states of "
                f"{count_of(len(worker_states), 'worker')}, this fit needs {self.workers.size}"
            )
        if resumed and state.rounds and not worker_states:
            self._warn_of_residuals()
        if worker_states:
            worker_states = redistribute_worker_states(
                worker_states, self.workers.size, self.master.averages_messages
            )
        return replace(state, worker_states=worker_states, owner=owner)

    def _warn_of_residuals(self):
        """Says that a checkpoint without worker states lacks what a codec had kept back."""
        codec = getattr(self.master, "codec", None)
        if codec is not None and codec.coder(1).state_arrays():
            log.warning(
                "the checkpoint holds no residuals of its workers' codec %s: what they had "
                "yet to send is lost, so the fit is not the one that was interrupted",
                codec,
            )
