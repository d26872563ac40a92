"""Replica that computes a Keras model, and its loss by a program of the engine."""

from dataclasses import replace

import numpy as np

from sparkdl import engine
from sparkdl.errors import DataError
from sparkdl.interop.keras.live.backends import functions_of
from sparkdl.interop.keras.live.model_optimizer import ModelOptimizer
from sparkdl.interop.keras.live.outputs import has_units_last, steps_mask
from sparkdl.interop.keras.live.variables import build_model, kept, to_numpy, trained
from sparkdl.interop.live.batches import seed_of, with_features
from sparkdl.interop.live.live_model import INPUT, MODULE
from sparkdl.interop.live.live_replica import LiveReplica
from sparkdl.nn.inputs.columns import mask_of


class KerasReplica(LiveReplica):
    """See Replica. For each batch, its vectors are copied to Keras, and gradients back.

    Keras computes on the same device as the backend.
    """

    def _build(self):
        conf = self.conf
        self.model = build_model(conf.make, conf.seed, conf.backend)
        lent = engine.backends.get(self.backend).lend({})
        self._functions = functions_of(self.model, conf.backend, lent and lent.number)
        self._has_units_last = has_units_last(self.model, conf.output_shape)
        named = trained(self.model), kept(self.model)
        return [[(name, to_numpy(each)) for name, each in variables] for variables in named]

    def _variables(self):
        """Returns copies of the trained and untrained variables."""
        params, buffers = self.arrays()
        return self._copies(params, trained(self.model)), self._copies(buffers, kept(self.model))

    def _copies(self, views, named):
        return [np.array(views[f"{MODULE}/{name}"]) for name, _ in named]

    def gradient(self, batch, epoch=0, after=None, states=None, queued=None):
        """See Replica.gradient; `after` is called once the backward pass has ended."""
        self._check(batch)
        values, held = self._variables()
        number = seed_of(self.conf.seed, int(epoch), batch.ids)
        seed = np.array([number & 0xFFFFFFFF, number >> 32], np.uint32)
        y, mask, back, held = self._functions.train(values, held, seed, self._input(batch))
        masked = self._with_mask(batch, mask, y)
        loss, slope = self._loss_and_slope(masked, self._as_taken(y), epoch)
        gradients = back(self._as_given(slope))
        self._expire()
        grads = self.conf.params_layout.views(self.grad)
        self._take(grads, trained(self.model), gradients)
        self._take(self.arrays()[1], kept(self.model), held)
        for finished in (after or {}).values():
            finished()
        if queued:
            self._call_behind(queued)
        return loss, len(batch)

    def _call_behind(self, queued):
        """Copies the gradient to the device, then calls functions with a mark after the copy."""
        lent = engine.backends.get(self.backend).lend(self._vectors)
        with lent.computing():
            mark = lent.mark()
        for _, function in queued:
            function(mark)

    def _build_optimizer(self):
        views = self.conf.slots_layout.views(self.slots)
        return ModelOptimizer(self.conf.keras_optimizer, self._functions, views)

    def _move(self, factor, t, first):
        params, grads = self.arrays()[0], self.conf.params_layout.views(self.grad)
        named = trained(self.model)
        values, slopes = (self._copies(views, named) for views in (params, grads))
        self._take(params, named, self._optimizer.step(values, slopes, float(factor), t, first))

    def _take(self, views, named, values):
        for (name, _), value in zip(named, values, strict=True):
            views[f"{MODULE}/{name}"][...] = value

    def losses_by_output(self, batch, outputs):
        """See Replica.losses_by_output."""
        self._check(batch)
        return self.head.losses_by_output(self._in_use(batch), outputs)

    def output_mask(self, batch, output=None):
        """See Replica.output_mask; includes Keras's mask if the loss applies it."""
        known = not self.conf.masked or mask_of(INPUT) in batch.columns
        if known:
            return super().output_mask(batch, output)
        return self.head.output_mask(self._in_use(batch), output)

    def _output(self, batch):
        y, _ = self._functions.use(*self._variables(), self._input(batch))
        return self._as_taken(y)

    def _in_use(self, batch):
        """Returns a batch with the model's output, and its mask, in place of the input."""
        y, mask = self._functions.use(*self._variables(), self._input(batch))
        return with_features(self._with_mask(batch, mask, y), self._as_taken(y))

    def _with_mask(self, batch, mask, y):
        """Returns a batch with Keras's mask of the output's steps, unless it already has one."""
        steps = None if self.conf.masked is False else steps_mask(mask, y)
        column = mask_of(INPUT)
        if steps is None or column in batch.columns:
            return batch
        return replace(batch, columns={**batch.columns, column: steps})

    def _as_taken(self, y):
        """Returns the model's output in the axis order of the loss."""
        return np.ascontiguousarray(np.moveaxis(y, -1, 1)) if self._has_units_last else y

    def _as_given(self, slope):
        """Returns the loss's gradient in the axis order of the model's output."""
        return np.ascontiguousarray(np.moveaxis(slope, 1, -1)) if self._has_units_last else slope

    def _input(self, batch):
        """Returns a copy of the input; integers as int32, which Keras's backends compute with."""
        x = batch.columns[INPUT]
        if self.conf.input_type == "float32":
            return np.array(x, np.float32)
        limits = np.iinfo(np.int32)
        if x.size and not limits.min <= x.min() <= x.max() <= limits.max:
            raise DataError(
                f"KerasModel's input must hold ids of int32, as Keras's backends do, got {x.min()} "
                f"to {x.max()}; hash or index them into the rows of the embedding"
            )
        return np.array(x, np.int32)
