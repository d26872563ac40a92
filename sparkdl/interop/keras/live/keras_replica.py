"""A replica whose network is a model of Keras on JAX, and whose loss is a program of the engine."""

from functools import lru_cache, partial

import jax
import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.interop.keras.live.variables import (
    build_model,
    is_seed,
    kept,
    refuse_losses,
    trained,
)
from sparkdl.interop.live.batches import seed_of, with_features
from sparkdl.interop.live.live_model import INPUT, MODULE, OUTPUT
from sparkdl.nn.execution.initial_vectors import initial_slots
from sparkdl.nn.execution.input_gradient import SLOPE, input_gradient_program
from sparkdl.nn.execution.replica import PROGRAMS, Replica
from sparkdl.nn.inputs.columns import columns_of, features_batch, nominal_shapes, shapes_of


class KerasReplica(Replica):
    """See Replica. Its vectors are copied to JAX for each batch, and gradients back."""

    decodes = ()

    def __init__(self, conf, backend="auto", strict=False):
        if backend == "cuda":
            raise ConfigError(
                'TrainingMaster.device must be "cpu" for a KerasModel, got "cuda"; its model is '
                "computed on the CPU"
            )
        super().__init__(conf, backend, strict)
        self.head = Replica(conf.head, backend, strict)
        self._slope = lru_cache(PROGRAMS)(partial(input_gradient_program, self.head))
        self._train, self._predict = jax.jit(self._forward_and_back), jax.jit(self._in_use)
        self._back = jax.jit(lambda back, slope: back(slope)[0])

    def _first_values(self):
        """Returns the vectors at first; the model is built here, and its values are theirs."""
        self.model = build_model(self.conf.make, self.conf.seed)
        layouts = {"params": self.conf.params_layout, "buffers": self.conf.buffers_layout}
        values = {name: np.zeros(layout.size, np.float32) for name, layout in layouts.items()}
        for name, variables in (("params", trained(self.model)), ("buffers", kept(self.model))):
            views = layouts[name].views(values[name])
            for own, variable in variables:
                views[f"{MODULE}/{own}"][...] = variable.value
        grad = np.zeros_like(values["params"])
        return values | {"grad": grad, "slots": initial_slots(self.conf)}

    def _variables(self):
        """Returns copies of the numbers of what is trained and what is kept."""
        params, buffers = self.arrays()
        parts = (params, trained(self.model)), (buffers, kept(self.model))
        return [[np.array(views[f"{MODULE}/{n}"]) for n, _ in named] for views, named in parts]

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
        columns = columns_of(self.conf.head, with_features(batch, np.asarray(y)))
        program = self._slope(shapes_of(columns))
        outputs = program.run(columns | {"ids": batch.ids, "epoch": epoch})
        gradients = self._back(back, np.array(outputs[SLOPE]))
        self._expire()
        grads = self.conf.params_layout.views(self.grad)
        self._take(grads, trained(self.model), gradients)
        self._take(self.arrays()[1], kept(self.model), held)
        for finished in (after or {}).values():
            finished()
        return program.number("loss"), len(batch)

    def _take(self, views, named, values):
        for (name, _), value in zip(named, values, strict=True):
            views[f"{MODULE}/{name}"][...] = value

    def step(self, batch, rate, t, epoch=0, states=None):
        """See Replica.step."""
        loss, _ = self.gradient(batch, epoch)
        self.apply(rate, t)
        return loss

    def forward(self, features, outputs=(), states=None, size=None):
        """See Replica.forward; "module" names what the model gives."""
        batch = features if hasattr(features, "columns") else features_batch(features)
        columns_of(self.conf, batch, labels=False)
        names, given = tuple(outputs) or (OUTPUT,), self._output(batch)
        rest = tuple(name for name in names if name != MODULE)
        results = self.head.forward(given, rest, size=size) if rest else {}
        return results | ({MODULE: given} if MODULE in names else {})

    def losses(self, batch):
        """See Replica.losses."""
        columns_of(self.conf, batch, labels=False)
        return self.head.losses(with_features(batch, self._output(batch)))

    def programs(self, batch_size):
        """Returns two programs: of the loss's gradient where the model ends, and of the update."""
        return self._slope(nominal_shapes(self.conf.head, batch_size)), self._update()

    def _output(self, batch):
        return np.array(self._predict(*self._variables(), self._input(batch)), order="C")

    def _input(self, batch):
        return np.array(batch.columns[INPUT], dtype=self.conf.input_type.replace("64", "32"))
