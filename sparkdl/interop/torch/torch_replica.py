"""A replica whose network is a module of torch, and whose loss is a program of the engine."""

from functools import lru_cache, partial

import numpy as np
import torch

from sparkdl.errors import ConfigError
from sparkdl.interop.live.batches import seed_of, with_features
from sparkdl.interop.live.live_model import INPUT, MODULE, OUTPUT
from sparkdl.interop.torch.module_arrays import build_module, constants, kept, trained
from sparkdl.nn.execution.initial_vectors import initial_slots
from sparkdl.nn.execution.input_gradient import SLOPE, input_gradient_program
from sparkdl.nn.execution.replica import PROGRAMS, Replica
from sparkdl.nn.inputs.columns import columns_of, features_batch, nominal_shapes, shapes_of


class TorchReplica(Replica):
    """See Replica. The module's parameters, buffers and gradients are views of its vectors."""

    decodes = ()

    def __init__(self, conf, backend="auto", strict=False):
        if backend == "cuda":
            raise ConfigError(
                'TrainingMaster.device must be "cpu" for a TorchModel, got "cuda"; its module is '
                "computed on the CPU"
            )
        super().__init__(conf, backend, strict)
        self.head = Replica(conf.head, backend, strict)
        self._slope = lru_cache(PROGRAMS)(partial(input_gradient_program, self.head))
        self._after = {}
        params, buffers = self.arrays()
        grads = conf.params_layout.views(self.grad)
        for name, parameter in trained(self.module):
            own = f"{MODULE}/{name}"
            parameter.data = torch.from_numpy(params[own])
            parameter.grad = torch.from_numpy(grads[own])
            parameter.register_post_accumulate_grad_hook(partial(self._finish, own))
        for name, array in kept(self.module):
            array.data = torch.from_numpy(buffers[f"{MODULE}/{name}"])
        self._kept = dict(self.module.named_buffers())
        self._versions = {name: array._version for name, array in constants(self.module)}

    def _first_values(self):
        """Returns the vectors at first; the module is built here, and its values are theirs."""
        self.module = build_module(self.conf.make, self.conf.seed)
        layouts = {"params": self.conf.params_layout, "buffers": self.conf.buffers_layout}
        values = {name: np.zeros(layout.size, np.float32) for name, layout in layouts.items()}
        for name, arrays in (("params", trained(self.module)), ("buffers", kept(self.module))):
            views = layouts[name].views(values[name])
            for own, array in arrays:
                views[f"{MODULE}/{own}"][...] = array.detach().numpy()
        grad = np.zeros_like(values["params"])
        return values | {"grad": grad, "slots": initial_slots(self.conf)}

    def gradient(self, batch, epoch=0, after=None, states=None, queued=None):
        """See Replica.gradient; `after` is called as torch's backward pass goes on."""
        columns_of(self.conf, batch, labels=False)  # checks them; the head does the labels
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_of(self.conf.seed, int(epoch), batch.ids))
            y = self.module.train()(self._input(batch))
        self._take_back_buffers()
        columns = columns_of(self.conf.head, with_features(batch, y.detach().numpy()))
        program = self._slope(shapes_of(columns))
        outputs = program.run(columns | {"ids": batch.ids, "epoch": epoch})
        self._expire()
        self.grad[...] = 0
        self._after, self._final = dict(after or {}), set()
        if y.requires_grad:
            y.backward(torch.from_numpy(outputs[SLOPE].copy()))
        while self._after:  # of parameters that this batch did not reach
            self._after.popitem()[1]()
        return program.number("loss"), len(batch)

    def _finish(self, name, parameter):
        """Says that a parameter's gradient is final, to whom it may concern."""
        if name in self._final:
            raise ConfigError(
                f"TorchModel.make must give a module whose gradients are final once in a backward "
                f"pass, got {name} twice; checkpoint with use_reentrant=False"
            )
        self._final.add(name)
        function = self._after.pop(name, None)
        if function is not None:
            function()

    def _take_back_buffers(self):
        """Puts what a forward pass has assigned anew into the vector that holds the buffers.

        ConfigError where it has changed what is a constant here.
        """
        for name, buffer in self._kept.items():
            owner, _, key = name.rpartition(".")
            buffers = self.module.get_submodule(owner)._buffers
            if buffers[key] is not buffer:
                buffer.data.copy_(buffers[key].detach())
                buffers[key] = buffer
            if buffer._version != self._versions.get(name, buffer._version):
                raise ConfigError(
                    f"TorchModel.make must give a module that changes float buffers alone, got "
                    f"{name} of {buffer.dtype} changed; make it a float"
                )

    def step(self, batch, rate, t, epoch=0, states=None):
        """See Replica.step."""
        loss, _ = self.gradient(batch, epoch)
        self.apply(rate, t)
        return loss

    def forward(self, features, outputs=(), states=None, size=None):
        """See Replica.forward; "module" names what the module gives."""
        batch = features if hasattr(features, "columns") else features_batch(features)
        columns_of(self.conf, batch, labels=False)
        y = self._in_use(batch)
        names = tuple(outputs) or (OUTPUT,)
        rest, given = (
            tuple(name for name in names if name != MODULE),
            np.array(y.numpy(), order="C"),
        )
        results = self.head.forward(given, rest, size=size) if rest else {}
        return results | ({MODULE: given} if MODULE in names else {})

    def losses(self, batch):
        """See Replica.losses."""
        columns_of(self.conf, batch, labels=False)
        return self.head.losses(with_features(batch, self._in_use(batch).numpy()))

    def programs(self, batch_size):
        """Returns two programs: of the loss's gradient where the module ends, and of the update."""
        return self._slope(nominal_shapes(self.conf.head, batch_size)), self._update()

    def _in_use(self, batch):
        with torch.no_grad():
            return self.module.eval()(self._input(batch))

    def _input(self, batch):
        return torch.from_numpy(np.array(batch.columns[INPUT], dtype=self.conf.input_type))
