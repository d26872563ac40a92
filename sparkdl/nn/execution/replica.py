"""A trainable copy of a network: flat vectors, on which its programs compute."""

from functools import lru_cache, partial
from threading import RLock

import numpy as np

from sparkdl import engine
from sparkdl.errors import DataError, ShapeError
from sparkdl.nn.execution.batch_tensors import identity_inputs, split_by_output
from sparkdl.nn.execution.custom_code import CustomCode
from sparkdl.nn.execution.initial_vectors import initial_buffers, initial_params, initial_slots
from sparkdl.nn.execution.kept_programs import PROGRAMS, by_output
from sparkdl.nn.execution.one_at_a_time import one_at_a_time
from sparkdl.nn.execution.recurrent_states import carry, state_columns
from sparkdl.nn.execution.replica_programs import (
    at_steps,
    forward_program,
    gradient_program,
    loss_program,
    mask_program,
    scale_of,
    update_program,
)
from sparkdl.nn.execution.scoring import has_joint_loss
from sparkdl.nn.inputs.columns import (
    columns_of,
    features_batch,
    nominal_shapes,
    pad,
    padded_size,
    shapes_of,
)
from sparkdl.nn.optimization import loss_scale


def vector(name):
    """Returns the property for a replica's vector; assignment overwrites its numbers in place."""

    def read(replica):
        replica._expire()  # the caller may write to the array
        return replica._vectors[name].open()

    def write(replica, values):
        target = read(replica)
        if values is not target:
            np.copyto(target, values)

    return property(read, write)


class Replica:
    """A copy of a network that a worker trains.

    `params`, `buffers`, `slots` and `grad` are float32 vectors with the layouts
    `conf.params_layout` (also for `grad`), `buffers_layout` and `slots_layout`; programs read and
    write them in place. If programs run on a device, they are host copies that each access brings
    up to date: access them again after every call that computes.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    backend : str
        Name of an engine backend; "auto" is the fastest whose library is installed.
    strict : bool
        Raise an error for operations without a kernel of the backend.
    """

    def __init__(self, conf, backend="auto", strict=False):
        self.conf, self.backend, self.strict = conf, backend, strict
        values = self._first_values() | {"left_out": np.zeros(1, np.float32)}
        make = engine.backends.get(backend).vector
        self._vectors = {name: make(value) for name, value in values.items()}
        self._gradient = lru_cache(PROGRAMS)(partial(gradient_program, self))
        self._forward = lru_cache(PROGRAMS)(partial(forward_program, self))
        self._loss = by_output(loss_program, self)
        self._mask = by_output(mask_program, self)
        self._update = lru_cache(1)(partial(update_program, self))
        self._version, self._code = 0, CustomCode(conf)
        self.lock = RLock()  # several threads may use a network for inference

    params, buffers, slots, grad = map(vector, ("params", "buffers", "slots", "grad"))

    def _first_values(self):
        """Returns the initial vectors by name."""
        params = initial_params(self.conf)
        values = {"params": params, "grad": np.zeros_like(params)}
        return values | {"buffers": initial_buffers(self.conf), "slots": initial_slots(self.conf)}

    @property
    def kept_params(self):
        """The parameters that this replica is responsible for: all of them."""
        return self.params

    @property
    def decodes(self):
        """Formats of stored images that `gradient` accepts as Pixels and decodes on its device."""
        return engine.backends.get(self.backend).decodes if self.conf.tbptt is None else ()

    @property
    def left_out(self):
        """The number of updates skipped because a float16 gradient was not finite."""
        return int(self._vectors["left_out"].open()[0])

    @one_at_a_time
    def load(self, params, buffers, slots=None):
        """Copies vectors; slots may be omitted for inference. ShapeError for a wrong length."""
        if self._code.has_changed():
            for kept in vars(self).values():
                if hasattr(kept, "cache_clear"):  # programs of the old code
                    kept.cache_clear()
        given = {"params": params, "buffers": buffers} | ({} if slots is None else {"slots": slots})
        for name, vector in given.items():
            target = self._vectors[name].open()
            if vector.shape != target.shape:
                raise ShapeError(f"{name} must have {target.shape} numbers, got {vector.shape}")
            if not np.array_equal(target, vector):
                self._expire()
                np.copyto(target, vector)

    def load_tables(self, arrays, kind=None):
        """Loads the tables of a TrainState; does nothing here, see TableReplica."""

    def table_arrays(self):
        """Returns the tables of a TrainState, {"table/array": vector}."""
        return {}

    def _expire(self):
        """Marks the vectors as changed, so that inference programs recompute constants."""
        self._version += 1

    def _run_in_use(self, program, columns):
        program.refresh(self._version)
        return program.run(columns)

    def gradient(self, batch, epoch=0, after=None, states=None, queued=None):
        """Fills `grad` with the gradient of the mean loss of a batch.

        Parameters
        ----------
        batch : Batch
            With the columns of conf.feature_columns and conf.label_columns: "features" and "labels"
            if there is one of each; optionally "mask" (n, T) and "labels_mask" (n, T) for
            sequences, and "weights" (n,), factors of the examples' losses. See `columns_of`,
            `label_mask_of`.
        epoch : int
        after : {parameter's name: function}, optional
            Called as soon as that parameter's gradient is final, while the rest still runs.
        states : dict, optional
            Initial states of recurrent layers, zeros if empty; replaced by their last states.
            Gradients go back as far as conf.tbptt says.
        queued : [(parameters' names, function (mark))], optional
            For devices: called at once, with a mark in the device's queue after which the gradients
            of those parameters are final.

        Returns
        -------
        loss, examples
            The sum of the examples' losses, and their number. On a device, converting the loss to
            float waits for it; sums and products of losses do not.

        Raises
        ------
        DataError
            If the batch has no example.
        """
        program, columns = self._program_and_feeds(batch, epoch, states)
        if queued is not None:
            outputs = program.queue(columns, at_steps(program, queued))
        else:
            outputs = program.run(columns, self._hooks(program, after))
        carry(states, outputs, len(batch))
        return program.number("loss"), len(batch)

    def _hooks(self, program, after):
        """Returns {step of the program: function to call after it}, given `after`."""
        return after and at_steps(program, [((name,), call) for name, call in after.items()])

    def _program_and_feeds(self, batch, epoch, states):
        """Returns (the gradient program for a batch, its feeds); DataError for an empty batch."""
        if not len(batch):
            raise DataError("a gradient needs a batch of one example or more, got none")
        columns = columns_of(self.conf, batch) | state_columns(self.conf, states, len(batch))
        program = self._gradient(shapes_of(columns))
        self._expire()
        return program, columns | identity_inputs(batch.ids, epoch)

    def apply(self, rate, t):
        """Applies one update with `grad` to `params` and `slots`.

        Parameters
        ----------
        rate : float, or array of float
            Learning rate: conf.rate_at of the update.
        t : int
            Number of the update, from 1.
        """
        self._expire()
        self._update().run({"rate": rate, "t": t})

    def rescale(self):
        """Adapts float16's loss scale to `grad`, for callers that update without `apply`."""
        if self.conf.dtype == loss_scale.FLOAT16:
            state, finite = scale_of(self), np.float32(np.isfinite(self.grad).all())
            for name, value in loss_scale.next_scale(finite, state).items():
                state[name][...] = value

    def step(self, batch, rate, t, epoch=0, states=None):
        """Computes `gradient` and `apply`, in one launch on a device; returns the sum of losses."""
        program, columns = self._program_and_feeds(batch, epoch, states)
        outputs = program.run_then(columns, self._update(), {"rate": rate, "t": t})
        carry(states, outputs, len(batch))
        return program.number("loss")

    @one_at_a_time
    def forward(self, features, outputs=(), states=None, size=None):
        """Returns the outputs of layers for a batch in inference mode.

        Parameters
        ----------
        features : array (n, ...), or a Batch if there are several inputs or masks
        outputs : names of layers, by default the main output; that of an output layer is the
            prediction, and "layer/z" its pre-activation z
        states : dict, optional
            Initial states of recurrent layers, as in `gradient`.
        size : int, optional
            The usual batch size: batches of this size are never padded, others may be.

        Returns
        -------
        {layer name: array (n, ...)}, new arrays
        """
        outputs = tuple(outputs) or (self.conf.output.name,)
        batch = features if hasattr(features, "columns") else features_batch(features)
        columns = columns_of(self.conf, batch, labels=False)
        n = len(next(iter(columns.values())))
        columns |= state_columns(self.conf, states, n)
        columns = {name: pad(column, padded_size(n, size)) for name, column in columns.items()}
        results = self._run_in_use(self._forward(shapes_of(columns), outputs), columns)
        carry(states, results, n)
        return {name: results[name][:n].copy() for name in outputs}

    def losses(self, batch, output=None):
        """Returns (prediction (n, units), loss of each example (n,)), in inference mode.

        With the name of an `output` both are its own, the loss without its loss weight.
        """
        return self.losses_by_output(batch, (output,))[output]

    @one_at_a_time
    def losses_by_output(self, batch, outputs):
        """Returns {output: its `losses`} for a tuple of outputs, from one pass forward."""
        n, columns = len(batch), columns_of(self.conf, batch)
        size = n if has_joint_loss(self.conf) else padded_size(n)
        columns = {name: pad(column, size) for name, column in columns.items()}
        results = self._run_in_use(self._loss(outputs)(shapes_of(columns)), columns)
        return split_by_output(results, outputs, n)

    @one_at_a_time
    def output_mask(self, batch, output=None):
        """Returns which steps of the main or named output exist, (n, T) bools; None: all."""
        columns = columns_of(self.conf, batch, labels=False)
        columns = {name: pad(column, padded_size(len(batch))) for name, column in columns.items()}
        program = self._mask(output)(shapes_of(columns))
        if program is None:
            return None
        return self._run_in_use(program, columns)["mask"][: len(batch)] > 0

    def describe(self, batch_size):
        """Describes the calls of a training step as text; see Program.describe."""
        return self.programs(batch_size)[0].describe()

    def programs(self, batch_size):
        """Returns the gradient and update programs of a training step of `batch_size` examples."""
        return self._gradient(nominal_shapes(self.conf, batch_size)), self._update()

    def program_in_use(self, batch_size, outputs):
        """Returns the inference program of some layers for `batch_size` examples; see `forward`."""
        columns = nominal_shapes(self.conf, batch_size)
        needed = self.conf.feature_columns
        return self._forward(tuple(one for one in columns if one[0] in needed), tuple(outputs))

    def link(self):
        """Returns the link to other processes' devices that sums the vectors; see Backend.link."""
        return engine.backends.get(self.backend).link(self._vectors)

    def arrays(self):
        """Returns {name: view of params}, {name: view of buffers}."""
        layouts = self.conf.params_layout, self.conf.buffers_layout
        return layouts[0].views(self.params), layouts[1].views(self.buffers)


def make_replica(conf, backend="auto"):
    """Returns the replica of a conf: of its `replica_class` if it has one, else a Replica."""
    return (conf.replica_class or Replica)(conf, backend)
