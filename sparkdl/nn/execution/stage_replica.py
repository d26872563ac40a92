"""A replica of one stage of a network, and the microbatches in flight."""

from functools import lru_cache, partial

import numpy as np

from sparkdl.nn.execution.batch_tensors import EPOCH, IDS
from sparkdl.nn.execution.kept_programs import PROGRAMS
from sparkdl.nn.execution.microbatch_run import KeptActivations, RecomputedActivations
from sparkdl.nn.execution.part_replica import PartReplica
from sparkdl.nn.execution.replica_programs import compile_update
from sparkdl.nn.execution.stage_program import SCALE, forward_and_back, stage_program
from sparkdl.nn.optimization.optimizer_groups import slots_layout
from sparkdl.nn.optimization.update import update_params


class StageReplica(PartReplica):
    """A PartReplica of adjacent layers.

    Its vectors have the layouts `section.params_layout` and `slots_layout`; it has the buffers of
    the whole network and updates those of its layers.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    stage : Stage
    params, slots, buffers, backend
        As for PartReplica.
    recompute : bool
        Whether activations are recomputed in the backward pass instead of kept.
    """

    def __init__(self, conf, stage, params, slots, buffers, backend="auto", recompute=False):
        self.stage, self.section, self.recompute = stage, stage.section, recompute
        self.slots_layout = slots_layout(self.section.groups)
        super().__init__(conf, params, slots, buffers, backend)
        self._update = lru_cache(1)(partial(section_update_program, self))
        self._programs = lru_cache(PROGRAMS)(partial(forward_and_back, self))
        self._spare = {}  # idle runs by shapes

    def arrays(self):
        """Returns {name: view of params}, {name: view of buffers}."""
        layout = self.conf.buffers_layout
        return self.section.params_layout.views(self.params), layout.views(self.buffers)

    def grad_views(self):
        """Returns {name: view of grad}."""
        return self.section.params_layout.views(self.grad)

    def begin(self, feeds):
        """Runs the forward pass of a microbatch.

        Parameters
        ----------
        feeds : {input: array}
            All but the late ones; see `StageGraph`.

        Returns
        -------
        (run, {output: array}); the run belongs to the microbatch until `finish`.
        """
        shapes = tuple((n, np.shape(x)) for n, x in feeds.items() if n not in WITHOUT_SHAPE)
        if shapes not in self._spare and len(self._spare) == PROGRAMS:
            del self._spare[next(iter(self._spare))]
        spare = self._spare.setdefault(shapes, [])
        run = spare.pop() if spare else self._new_run(shapes)
        run.shapes = shapes
        self._expire()
        return run, run.begin(feeds)

    def finish(self, run, feeds):
        """Runs the backward pass, adding to `grad`; returns {output: array}.

        The arrays are valid until the next `begin` or `finish`.
        """
        outputs = run.finish(feeds)
        self._spare.setdefault(run.shapes, []).append(run)
        return outputs

    def _new_run(self, shapes):
        """Returns a run for these shapes; a last stage never recomputes: it goes back at once."""
        if self.recompute and self.stage.passed:
            return RecomputedActivations(*self._programs(shapes))
        return KeptActivations(stage_program(self, shapes))


WITHOUT_SHAPE = {IDS, EPOCH, SCALE}  # their shapes follow from those of the others


def section_update_program(replica):
    """Returns the program of an in-place optimizer update of the stage's vectors."""
    section = replica.section
    vectors = {"params": replica.params, "grad": replica.grad}
    slots = replica.slots_layout.views(replica.slots)
    return compile_update(replica, partial(update_params, section), vectors, slots, section.groups)
