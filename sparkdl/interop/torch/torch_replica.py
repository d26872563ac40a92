"""A replica whose network is a module of torch, and whose loss is a program of the engine."""

from functools import partial

import numpy as np
import torch

from sparkdl.errors import ConfigError
from sparkdl.interop.live.batches import seed_of
from sparkdl.interop.live.live_model import INPUT, MODULE
from sparkdl.interop.live.live_replica import LiveReplica
from sparkdl.interop.torch.module_arrays import (
    build_module,
    input_tensor,
    kept,
    run_module,
    trained,
)
from sparkdl.interop.torch.module_optimizer import ModuleOptimizer
from sparkdl.interop.torch.module_views import ModuleViews
from sparkdl.nn.inputs.columns import columns_of


class TorchReplica(LiveReplica):
    """See Replica. The module's parameters, buffers and gradients are views of its vectors."""

    noun = "module"

    def __init__(self, conf, backend="auto", strict=False):
        super().__init__(conf, backend, strict)
        self._after = {}
        params, buffers = self.arrays()
        grads = conf.params_layout.views(self.grad)
        values = {name.removeprefix(f"{MODULE}/"): x for name, x in (params | buffers).items()}
        self._views = ModuleViews(self.module, values)
        for name, parameter in trained(self.module):
            own = f"{MODULE}/{name}"
            parameter.grad = torch.from_numpy(grads[own])
            parameter.register_post_accumulate_grad_hook(partial(self._finish, own))

    def _build(self):
        self.module = build_module(self.conf.module_spec)
        named = trained(self.module), kept(self.module)
        return [[(name, each.detach().numpy()) for name, each in arrays] for arrays in named]

    def gradient(self, batch, epoch=0, after=None, states=None, queued=None):
        """See Replica.gradient; `after` is called as torch's backward pass goes on."""
        columns_of(self.conf, batch, labels=False)  # checks them; the head does the labels
        self._after, self._final = dict(after or {}), set()
        with self._views.in_training():
            y = self._output_in_training(batch, epoch)
            loss, slope = self._loss_and_slope(batch, y.detach().numpy(), epoch)
            self._expire()
            self.grad[...] = 0
            if y.requires_grad:
                y.backward(torch.from_numpy(slope))
        while self._after:  # of parameters that this batch did not reach
            self._after.popitem()[1]()
        return loss, len(batch)

    def _output_in_training(self, batch, epoch):
        self.module.train()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_of(self.conf.seed, int(epoch), batch.ids))
            return run_module(self.module, self._input(batch))

    def _build_optimizer(self, views):
        schedule = self.conf.module_schedule
        return ModuleOptimizer(self.conf.torch_optimizer, self.module, views, schedule)

    def _move(self, factor, t, first):
        iteration = t - 1 if self.iteration is None else self.iteration
        self._optimizer.step(factor, iteration, first)

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

    def _output(self, batch):
        x = self._input(batch)
        with self.lock, torch.no_grad(), self._views.in_use():
            self.module.eval()
            return np.array(run_module(self.module, x).numpy(), order="C")

    def _input(self, batch):
        return input_tensor(batch.columns[INPUT], self.conf)
