"""Which worker has what of the state, and how the driver takes it apart and together."""

from dataclasses import replace

import numpy as np

from sparkdl.nn.optimization.optimizer_groups import slots_layout
from sparkdl.training.masters.pipeline_parallel.cuts import stages_of

PARAMS, SLOTS = "stage.params", "stage.slots"
EMPTY = np.empty(0, np.float32)


def divide_state(master, conf, state, workers):
    """Returns (the TrainState without what stages have, function (rank) that gives its share)."""
    stages = stages_of(conf, master.stages, workers)

    def share(rank):
        section = stages[rank % len(stages)].section
        slots = slots_layout(section.groups).vector(section.slots_in(state.slots))
        return {PARAMS: state.params[section.part], SLOTS: slots}

    return replace(state, params=EMPTY, slots=EMPTY), share


def join_state(master, conf, fields):
    """Returns the fields of a TrainState, whole again, of which the first pipeline sent its shares.

    Parameters
    ----------
    fields : {name: value}
        With the shares in "worker_states".
    """
    states = [dict(state) for state in fields["worker_states"]]
    stages = stages_of(conf, master.stages, len(states))
    params = np.empty(conf.params_layout.size, np.float32)
    slots = np.empty(conf.slots_layout.size, np.float32)
    for stage, state in zip(stages, states, strict=False):
        section = stage.section
        params[section.part] = state[PARAMS]
        views = slots_layout(section.groups).views(state[SLOTS])
        for name, place in section.slots_in(slots).items():
            place[...] = views[name]
    return fields | {"params": params, "slots": slots, "worker_states": ()}
