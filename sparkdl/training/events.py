"""What happens in a fit, and who hears of it."""

from typing import Any, NamedTuple


class RoundDone(NamedTuple):
    """`state` is None where the workers keep it."""

    report: Any
    state: Any

    def tell(self, history, listeners):
        history.add_round(self.report)
        listeners.on_round(self.report, self.state)


class EpochDone(NamedTuple):
    """All rounds of an epoch are done, and `validation` is its Evaluation or None."""

    state: Any
    validation: Any

    def tell(self, history, listeners):
        listeners.on_epoch(history.end_epoch(self.validation), self.state)


class Restarted(NamedTuple):
    """Workers were lost, others have been asked for."""

    restart: Any
    state = None

    def tell(self, history, listeners):
        history.go_back(self.restart)
        listeners.on_restart(self.restart)


def driven(master, workers, conf, blocks, state, epochs, transform, evaluate):
    """Events of a fit whose rounds the driver runs one by one, up to epoch `epochs`."""
    while state.epoch < epochs:
        rounds = master.epoch(workers, conf, blocks, state, transform)
        for state, report in rounds:
            yield RoundDone(report, state)
        yield EpochDone(state, None if evaluate is None else evaluate(state))
