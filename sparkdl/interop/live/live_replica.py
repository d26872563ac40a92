"""Replica that computes a model of another framework, and its loss by a program of the engine."""

from functools import lru_cache, partial

import numpy as np

from sparkdl.interop.live.batches import with_features
from sparkdl.interop.live.live_model import INPUT, MODULE, OUTPUT
from sparkdl.interop.live.padding import check_steps
from sparkdl.nn.execution.batch_tensors import identity_inputs
from sparkdl.nn.execution.initial_vectors import initial_slots
from sparkdl.nn.execution.input_gradient import SLOPE, input_gradient_program
from sparkdl.nn.execution.kept_programs import PROGRAMS
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.execution.replica_programs import clipping_program
from sparkdl.nn.inputs.columns import (
    columns_of,
    features_batch,
    mask_of,
    nominal_shapes,
    shapes_of,
)


class LiveReplica(Replica):
    """See Replica. A subclass defines `_build`, `_output` and `gradient`."""

    decodes = ()
    iteration: int | None = None  # previous updates of the fit, while t is the age of the slots
    epoch = 0  # epoch of this update

    def __init__(self, conf, backend="auto", strict=False):
        super().__init__(conf, backend, strict)
        self._optimizer = (
            None  # the framework's, built at the first update, as predictions do not need it
        )
        self.head = Replica(conf.head, backend, strict)
        self._slope = lru_cache(PROGRAMS)(partial(input_gradient_program, self.head))
        self._clipping = lru_cache(1)(partial(clipping_program, self))

    def _build(self):
        """Builds the model; returns [(name, array)] of trained and of untrained variables."""
        raise NotImplementedError

    def _output(self, batch):
        """Returns the model's output at inference, as a new array."""
        raise NotImplementedError

    def _build_optimizer(self):
        """Returns the framework's optimizer, whose state is in the slots."""
        raise NotImplementedError

    def _move(self, factor, t, first):
        """Updates the parameters with `_optimizer`.

        Parameters
        ----------
        factor : float
            Factor of the learning rates that the optimizer was built with; with a schedule, the
            rate itself, or one per group.
        t : int
            Number of the update, from 1.
        first : bool
            Whether to start from the optimizer's initial state instead of the slots.
        """
        raise NotImplementedError

    def _first_values(self):
        """Builds the model; returns the initial vectors, with the model's values."""
        layouts = {"params": self.conf.params_layout, "buffers": self.conf.buffers_layout}
        values = {name: np.zeros(layout.size, np.float32) for name, layout in layouts.items()}
        for name, arrays in zip(layouts, self._build(), strict=True):
            views = layouts[name].views(values[name])
            for own, array in arrays:
                views[f"{MODULE}/{own}"][...] = array
        grad = np.zeros_like(values["params"])
        return values | {"grad": grad, "slots": initial_slots(self.conf)}

    def _check(self, batch):
        """Raises DataError for a batch that the model cannot take; the head checks labels."""
        columns_of(self.conf, batch, labels=False)
        check_steps(self.conf, batch.columns.get(mask_of(INPUT)))

    def _loss_and_slope(self, batch, y, epoch):
        """Returns the loss of the model's training output, and its gradient by that."""
        columns = columns_of(self.conf.head, with_features(batch, y))
        program = self._slope(shapes_of(columns))
        outputs = program.run(columns | identity_inputs(batch.ids, epoch))
        return program.number("loss"), np.array(outputs[SLOPE])

    def step(self, batch, rate, t, epoch=0, states=None):
        """See Replica.step."""
        loss, _ = self.gradient(batch, epoch)
        self.apply(rate, t)
        return loss

    def apply(self, rate, t):
        """See Replica.apply.

        A worker without a batch so far has empty slots at a later update, which it treats as its
        first.
        """
        if not self.conf.has_own_optimizer:
            return super().apply(rate, t)
        self._expire()
        first = t == 1 or (self._optimizer is None and not self.slots.any())
        if self._optimizer is None:
            self._optimizer = self._build_optimizer()
        if self.conf.clipping is not None:
            self._clipping().run({})
        self._move(np.divide(rate, self.conf.base_rate), int(t), first)

    def forward(self, features, outputs=(), states=None, size=None):
        """See Replica.forward; "module" is the model's output."""
        batch = features if hasattr(features, "columns") else features_batch(features)
        self._check(batch)
        names, given = tuple(outputs) or (OUTPUT,), self._output(batch)
        rest = tuple(name for name in names if name != MODULE)
        results = self.head.forward(given, rest, size=size) if rest else {}
        return results | ({MODULE: given} if MODULE in names else {})

    def losses_by_output(self, batch, outputs):
        """See Replica.losses_by_output."""
        self._check(batch)
        return self.head.losses_by_output(with_features(batch, self._output(batch)), outputs)

    def output_mask(self, batch, output=None):
        """See Replica.output_mask; masks that the model may compute are unknown."""
        given = np.zeros((len(batch), *self.conf.head.input_shape), np.float32)
        return self.head.output_mask(with_features(batch, given), output)

    def programs(self, batch_size):
        """Returns two programs: for the loss's gradient by the model's output, and for the update.

        With the framework's optimizer, that for the update only clips the gradient, if wanted.
        """
        slope = self._slope(nominal_shapes(self.conf.head, batch_size))
        if not self.conf.has_own_optimizer:
            return slope, self._update()
        return (slope,) if self.conf.clipping is None else (slope, self._clipping())
