"""One copy of a network that trains: flat vectors, and the programs that compute on them."""

from functools import lru_cache, partial

import numpy as np

from sparkdl import engine
from sparkdl.engine import Graph, Spec, Tensor, gradients, ops
from sparkdl.errors import ShapeError
from sparkdl.nn.forward import forward
from sparkdl.nn.initial import initial_buffers, initial_params, initial_slots
from sparkdl.nn.update import updated

PROGRAMS = 8  # kept per replica: a program for each batch size has an arena of its own


class Replica:
    """What a worker trains.

    `params`, `buffers`, `slots` and `grad` are float32 vectors, laid out as `conf.params_layout`,
    `buffers_layout` and `slots_layout` say; programs read and write them in place.

    Parameters
    ----------
    conf : NetworkConf
    backend : str
        Name of an engine backend; "auto" is the fastest whose library is here.
    strict : bool
        Refuse an operation for which the backend has no kernel of its own.
    """

    def __init__(self, conf, backend="auto", strict=False):
        self.conf, self.backend, self.strict = conf, backend, strict
        self.params, self.buffers = initial_params(conf), initial_buffers(conf)
        self.slots, self.grad = initial_slots(conf), np.zeros_like(self.params)
        self._gradient = lru_cache(PROGRAMS)(partial(gradient_program, self))
        self._forward = lru_cache(PROGRAMS)(partial(forward_program, self))
        self._loss = lru_cache(PROGRAMS)(partial(loss_program, self))
        self._update = None

    def load(self, params, buffers, slots):
        """Take over the values of three vectors; ShapeError where a length differs."""
        for name, vector in (("params", params), ("buffers", buffers), ("slots", slots)):
            own = getattr(self, name)
            if vector.shape != own.shape:
                raise ShapeError(f"{name} must have {own.shape} numbers, got {vector.shape}")
            np.copyto(own, vector)

    def gradient(self, batch, epoch=0, after=None):
        """Fill `grad` with the gradient of the mean loss of a batch.

        Parameters
        ----------
        batch : has `features` (n, ...), `labels` and `ids` (n,)
        epoch : int
        after : {parameter's name: function}, optional
            Called, while the rest still runs, as soon as that parameter's gradient is final.

        Returns
        -------
        loss, examples
            The sum of the examples' losses, and their number.
        """
        n = len(batch.features)
        program = self._gradient(n)
        calls = None if after is None else at_steps(program, after)
        feeds = {"features": batch.features, "labels": batch.labels, "ids": batch.ids}
        outputs = program.run(feeds | {"epoch": epoch}, calls)
        return float(outputs["loss"]), n

    def apply(self, rate, t):
        """One update of `params` and `slots` with `grad`.

        Parameters
        ----------
        rate : float
            Learning rate.
        t : int
            Number of the update, from 1.
        """
        if self._update is None:
            self._update = update_program(self)
        self._update.run({"rate": rate, "t": t})

    def step(self, batch, rate, t, epoch=0):
        """`gradient`, then `apply`: the sum of the examples' losses."""
        loss, _ = self.gradient(batch, epoch)
        self.apply(rate, t)
        return loss

    def forward(self, features, outputs=()):
        """What layers give for a batch, as a network in use computes it.

        Parameters
        ----------
        features : (n, *input_shape)
        outputs : names of layers; that of the last one, or none, means the prediction

        Returns
        -------
        {layer name: array (n, ...)}, new arrays
        """
        outputs = tuple(outputs) or (self.conf.output.name,)
        n = len(features)
        results = self._forward(rounded(n), outputs).run({"features": padded(features)})
        return {name: results[name][:n].copy() for name in outputs}

    def losses(self, batch):
        """(prediction (n, units), loss of each example (n,)) as a network in use computes them."""
        n = len(batch.features)
        feeds = {"features": padded(batch.features), "labels": padded(batch.labels)}
        results = self._loss(rounded(n)).run(feeds)
        return results["prediction"][:n].copy(), results["losses"][:n].copy()

    def describe(self, batch_size):
        """The calls of a training step, as text; see Program.describe."""
        return self._gradient(batch_size).describe()

    def arrays(self):
        """{name: view of params}, {name: view of buffers}"""
        layouts = self.conf.params_layout, self.conf.buffers_layout
        return layouts[0].views(self.params), layouts[1].views(self.buffers)


def inputs_of(replica, n):
    """The tensors of parameters, buffers and of a batch of n, by name."""
    conf, (params, buffers) = replica.conf, replica.arrays()
    weights = {name: tensor(name, view.shape) for name, view in params.items()}
    states = {name: tensor(name, view.shape) for name, view in buffers.items()}
    shape = conf.loss.label_shape(conf.output.units)
    kind = "int32" if conf.loss.label_kind == "class" else "float32"
    batch = {
        "features": tensor("features", (n, *conf.input_shape)),
        "labels": tensor("labels", (n, *shape), kind),
        "ids": tensor("ids", (n,), "uint64"),
        "epoch": tensor("epoch", (), "uint64"),
    }
    return weights, states, batch


def gradient_program(replica, n):
    """Loss, gradients and the buffers' next values for a batch of n."""
    conf, (params, buffers) = replica.conf, replica.arrays()
    weights, states, batch = inputs_of(replica, n)
    options = {"training": True, "ids": batch["ids"], "epoch": batch["epoch"]}
    result = forward(conf, weights, states, batch["features"], **options)
    loss = ops.sum(conf.loss.per_example(result.logits, batch["labels"]))
    grads = gradients(ops.mul(loss, 1 / n), list(weights.values()))
    outputs = {"loss": loss}
    backwards = reversed(list(zip(weights, grads, strict=True)))  # the last layer's come first
    outputs |= {f"grad:{name}": grad for name, grad in backwards}
    outputs |= {f"next:{name}": value for name, value in result.buffer_updates.items()}
    views = conf.params_layout.views(replica.grad)
    bindings = params | buffers | {f"grad:{name}": view for name, view in views.items()}
    bindings |= {f"next:{name}": buffers[name] for name in result.buffer_updates}
    return compiled(replica, weights | states | batch, outputs, bindings)


def forward_program(replica, n, names):
    weights, states, batch = inputs_of(replica, n)
    result = forward(replica.conf, weights, states, batch["features"], outputs=names)
    inputs = weights | states | {"features": batch["features"]}
    return compiled(replica, inputs, result.activations, merged(replica))


def loss_program(replica, n):
    weights, states, batch = inputs_of(replica, n)
    loss = replica.conf.loss
    z = forward(replica.conf, weights, states, batch["features"]).logits
    outputs = {"prediction": loss.output(z), "losses": loss.per_example(z, batch["labels"])}
    inputs = weights | states | {name: batch[name] for name in ("features", "labels")}
    return compiled(replica, inputs, outputs, merged(replica))


def update_program(replica):
    """The updater over the whole vector, in place."""
    conf = replica.conf
    vectors = {"params": replica.params, "grad": replica.grad}
    slots = conf.slots_layout.views(replica.slots)
    bindings = vectors | {f"slot:{name}": view for name, view in slots.items()}
    inputs = {name: tensor(name, array.shape) for name, array in bindings.items()}
    inputs |= {name: tensor(name, ()) for name in ("rate", "t")}
    old = {name: inputs[f"slot:{name}"] for name in slots}
    arguments = inputs["params"], inputs["grad"], old, inputs["rate"], inputs["t"]
    params, new = updated(conf, *arguments)
    outputs = {"new:params": params} | {f"new:{name}": value for name, value in new.items()}
    bindings |= {"new:params": replica.params}
    bindings |= {f"new:{name}": view for name, view in slots.items()}
    return compiled(replica, inputs, outputs, bindings)


def compiled(replica, inputs, outputs, bindings):
    return engine.compile(Graph(inputs, outputs), replica.backend, bindings, replica.strict)


def merged(replica):
    params, buffers = replica.arrays()
    return params | buffers


def tensor(name, shape, dtype="float32"):
    return Tensor(Spec(tuple(shape), dtype), name=name)


def at_steps(program, after):
    """{step: function} from {parameter: function}; several may fall on one step."""
    calls = {}
    for name, function in after.items():
        calls.setdefault(program.final(f"grad:{name}"), []).append(function)
    return {step: partial(call_all, functions) for step, functions in calls.items()}


def call_all(functions):
    for function in functions:
        function()


def rounded(n):
    """The next power of two, so that batches of any size share a few programs."""
    return 1 << max(n - 1, 0).bit_length()


def padded(array):
    """`array` with its first example repeated up to `rounded` many."""
    array = np.asarray(array)
    missing = rounded(len(array)) - len(array)
    return array if not missing else np.concatenate([array, np.repeat(array[:1], missing, 0)])
