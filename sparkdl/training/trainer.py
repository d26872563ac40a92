"""A fit: epochs of rounds, with listeners, validation, and runs that go on where they stopped."""

from dataclasses import replace

from sparkdl.errors import CheckpointError, ConfigError, DivergedError
from sparkdl.training.checkpoint import CheckpointWriter
from sparkdl.training.history import History
from sparkdl.training.listeners import Listeners
from sparkdl.training.report import FitPlan


class Trainer:
    """Runs a master's rounds over blocks.

    Parameters
    ----------
    conf : NetworkConf
    master : TrainingMaster
    workers : Workers
    listeners : sequence of Listener
    checkpoints : Checkpoints or None
    evaluate : function of a TrainState that gives an Evaluation, or None
    """

    def __init__(self, conf, master, workers, *, listeners=(), checkpoints=None, evaluate=None):
        self.conf, self.master, self.workers = conf, master, workers
        self.writer = None if checkpoints is None else CheckpointWriter(checkpoints)
        # The checkpoint is written before others hear of the round: what they do may fail.
        self.listeners = Listeners(*([self.writer] if self.writer else []), *listeners)
        self.evaluate = evaluate

    def fit(self, blocks, state, epochs, transform=None, first_epoch=None):
        """Train until `epochs` epochs after `first_epoch` (the state's own unless given) are done.

        Returns
        -------
        state, history
            A fit that has nothing left to do gives the state it was given.

        Raises
        ------
        DivergedError
            If the loss is not finite; names the round and the last good checkpoint.
        """
        first = state.epoch if first_epoch is None else first_epoch
        history, extra = History(), self.fingerprint(blocks) | {"first_epoch": first}
        self.listeners.on_fit_start(self._plan(blocks, state, first + epochs, extra))
        try:
            while state.epoch < first + epochs:
                state = self._epoch(blocks, state, transform, history)
        except DivergedError as error:
            raise self._with_checkpoint(error) from error
        finally:
            self.listeners.on_fit_end(history)
        return state, history

    def fingerprint(self, blocks):
        """What must be the same for a resumed run to equal the one that was not interrupted."""
        sizes = blocks.sizes
        data = {"workers": self.workers.size, "records": sum(sizes), "blocks": len(sizes)}
        return {"master": type(self.master).__name__} | self.master.identity() | data

    def check_resumed(self, blocks, extra, path):
        """Raise CheckpointError where data, master or workers are not those of the checkpoint."""
        if "first_epoch" not in extra:
            raise CheckpointError(
                f"{path} is a saved model, not a checkpoint that a fit has left; load it and fit it"
            )
        for name, now in self.fingerprint(blocks).items():
            then = extra.get(name)
            if then != now:
                raise CheckpointError(
                    f"{path} was written with {name} {then}, this fit has {now}; resumed, it "
                    "would not give the same weights: use the same, or load the model and fit it"
                )

    def _epoch(self, blocks, state, transform, history):
        rounds = self.master.epoch(self.workers, self.conf, blocks, state, transform)
        for state, report in rounds:
            history.add_round(report)
            self.listeners.on_round(report, state)
        validation = None if self.evaluate is None else self.evaluate(state)
        self.listeners.on_epoch(history.end_epoch(validation), state)
        return state

    def _plan(self, blocks, state, epochs, extra):
        return FitPlan(
            conf=self.conf,
            epochs=epochs,
            rounds_in_epoch=self.master.rounds_in_epoch(self.workers, blocks),
            workers=self.workers.size,
            epoch=state.epoch,
            round=state.round,
            rounds=state.rounds,
            extra=extra,
        )

    def _with_checkpoint(self, error):
        last = None if self.writer is None else self.writer.last
        where = (
            f"the last good checkpoint is {last}"
            if last
            else "there is no checkpoint to go back to"
        )
        return DivergedError(f"{error}; {where}")


def start_state(conf, master, state):
    """The state to start from, with the master's seed, or the network's where it gives none."""
    return replace(state, seed=conf.seed if master.seed is None else master.seed)


def check_epochs(epochs):
    if not (isinstance(epochs, int) and not isinstance(epochs, bool) and epochs >= 1):
        raise ConfigError(f"epochs must be an integer >= 1, got {epochs!r}")
