"""A replica whose network is a model of Keras on JAX, and whose loss is a program of the engine."""

import jax
import numpy as np

from sparkdl.interop.keras.live.model_optimizer import ModelOptimizer
from sparkdl.interop.keras.live.variables import (
    build_model,
    is_seed,
    kept,
    refuse_losses,
    trained,
)
from sparkdl.interop.live.batches import seed_of
from sparkdl.interop.live.live_model import INPUT, MODULE
from sparkdl.interop.live.live_replica import LiveReplica
from sparkdl.nn.inputs.columns import columns_of


class KerasReplica(LiveReplica):
    """See Replica. Its vectors are copied to JAX for each batch, and gradients back."""

    noun = "model"

    def __init__(self, conf, backend="auto", strict=False):
        super().__init__(conf, backend, strict)
        self._train, self._predict = jax.jit(self._forward_and_back), jax.jit(self._in_use)
        self._back = jax.jit(lambda back, slope: back(slope)[0])

    def _build(self):
        self.model = build_model(self.conf.make, self.conf.seed)
        named = trained(self.model), kept(self.model)
        return [[(name, each.value) for name, each in variables] for variables in named]

    def _variables(self):
        """Returns copies of the numbers of what is trained and what is kept."""
        params, buffers = self.arrays()
        return self._copies(params, trained(self.model)), self._copies(buffers, kept(self.model))

    def _copies(self, views, named):
        return [np.array(views[f"{MODULE}/{name}"]) for name, _ in named]

    def _others(self, held, seed):
        """Returns all that is not trained, in Keras's order: a seed for each generator as well."""
        held, found = iter(held), []
        for i, variable in enumerate(self.model.non_trainable_variables):
            found.append(seed.at[1].add(i << 16) if is_seed(variable) else next(held))
        return found

    def _forward_and_back(self, values, held, seed, x):
        """Returns (output, the way back from its slope, what is kept) of a batch in training."""

        def run(values):
            y, others, losses = self.model.stateless_call(
                values, self._others(held, seed), x, training=True, return_losses=True
            )
            refuse_losses(losses)
            named = zip(self.model.non_trainable_variables, others, strict=True)
            return y, [value for variable, value in named if not is_seed(variable)]

        return jax.vjp(run, values, has_aux=True)

    def _in_use(self, values, held, x):
        seed = jax.numpy.zeros(2, "uint32")
        return self.model.stateless_call(values, self._others(held, seed), x, training=False)[0]

    def gradient(self, batch, epoch=0, after=None, states=None, queued=None):
        """See Replica.gradient; `after` is called once the backward pass has ended."""
        columns_of(self.conf, batch, labels=False)  # checks them; the head does the labels
        values, held = self._variables()
        number = seed_of(self.conf.seed, int(epoch), batch.ids)
        seed = np.array([number & 0xFFFFFFFF, number >> 32], np.uint32)
        y, back, held = self._train(values, held, seed, self._input(batch))
        loss, slope = self._loss_and_slope(batch, np.asarray(y), epoch)
        gradients = self._back(back, slope)
        self._expire()
        grads = self.conf.params_layout.views(self.grad)
        self._take(grads, trained(self.model), gradients)
        self._take(self.arrays()[1], kept(self.model), held)
        for finished in (after or {}).values():
            finished()
        return loss, len(batch)

    def _build_optimizer(self, views):
        return ModelOptimizer(self.conf.keras_optimizer, self.model, views)

    def _move(self, factor, t, first):
        params, grads = self.arrays()[0], self.conf.params_layout.views(self.grad)
        named = trained(self.model)
        values, slopes = (self._copies(views, named) for views in (params, grads))
        self._take(params, named, self._optimizer.step(values, slopes, factor, t, first))

    def _take(self, views, named, values):
        for (name, _), value in zip(named, values, strict=True):
            views[f"{MODULE}/{name}"][...] = value

    def _output(self, batch):
        return np.array(self._predict(*self._variables(), self._input(batch)), order="C")

    def _input(self, batch):
        return np.array(batch.columns[INPUT], dtype=self.conf.input_type.replace("64", "32"))
