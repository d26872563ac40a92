"""A replica whose network is a torch module, and whose loss is a program of the engine."""

from functools import partial

import numpy as np
import torch

from sparkdl import engine
from sparkdl.errors import ConfigError
from sparkdl.interop.live.batches import seed_of
from sparkdl.interop.live.live_model import INPUT, MODULE
from sparkdl.interop.live.live_replica import LiveReplica
from sparkdl.interop.torch.module_arrays import (
    MASK,
    build_module,
    input_tensor,
    kept,
    run_module,
    trained,
)
from sparkdl.interop.torch.module_device import device_of, tensors_of
from sparkdl.interop.torch.module_optimizer import ModuleOptimizer
from sparkdl.interop.torch.module_views import ModuleViews
from sparkdl.nn.inputs.columns import mask_of


class TorchReplica(LiveReplica):
    """See Replica. The module's parameters, buffers and gradients are views of its vectors."""

    def __init__(self, conf, backend="auto", strict=False):
        super().__init__(conf, backend, strict)
        self._after, self._marks = {}, None
        lent = engine.backends.get(backend).lend(self._vectors)
        self._device = device_of(lent, conf.may_round_factors)
        with self._device.computing("params", "buffers", "grad", "slots"):
            flat = {n: self._device.tensor(n, vector) for n, vector in self._vectors.items()}
            self._grad = flat["grad"]
            self._slots = tensors_of(conf.slots_layout, flat["slots"])
            params = tensors_of(conf.params_layout, flat["params"])
            arrays = params | tensors_of(conf.buffers_layout, flat["buffers"])
            self._place(arrays, tensors_of(conf.params_layout, self._grad))

    def _place(self, arrays, grads):
        """Makes the module's arrays and gradients views of the vectors."""
        values = {name.removeprefix(f"{MODULE}/"): x for name, x in arrays.items()}
        self._views = ModuleViews(self.module, values)
        for name, parameter in trained(self.module):
            own = f"{MODULE}/{name}"
            parameter.grad = grads[own]
            parameter.register_post_accumulate_grad_hook(partial(self._finish, own))

    def _build(self):
        self.module = build_module(self.conf.module_spec)
        named = trained(self.module), kept(self.module)
        return [[(name, each.detach().numpy()) for name, each in arrays] for arrays in named]

    def gradient(self, batch, epoch=0, after=None, states=None, queued=None):
        """See Replica.gradient; `after` is called during torch's backward pass.

        On a GPU it is called after the backward pass.
        """
        self._check(batch)
        self._after, self._final = dict(after or {}), set()
        self._marks = QueuedMarks(queued or (), self._device.mark)
        self._expire()
        with self._device.computing("params", "buffers", "grad"), self._views.in_training():
            y = self._output_in_training(batch, epoch)
            loss, slope = self._loss_and_slope(batch, y.numpy(force=True), epoch)
            self._grad.zero_()
            if y.requires_grad:
                y.backward(torch.from_numpy(slope).to(self._device.name))
            self._marks.close()
        while self._after:  # parameters that this batch did not reach
            self._after.popitem()[1]()
        self._marks.call()
        return loss, len(batch)

    def _output_in_training(self, batch, epoch):
        self.module.train()
        with torch.random.fork_rng(devices=self._device.numbers):
            torch.manual_seed(seed_of(self.conf.seed, int(epoch), batch.ids))
            return run_module(self.module, *self._inputs(batch))

    def _build_optimizer(self):
        own, schedule = self.conf.torch_optimizer, self.conf.module_schedule
        return ModuleOptimizer(own, self.module, self._slots, schedule, self._device.is_gpu)

    def _move(self, factor, t, first):
        steps = t - 1 if self.iteration is None else self.iteration
        if self.conf.module_schedule is not None:
            steps = self.conf.module_schedule.steps(steps, self.epoch)
        with self._device.computing("params", "slots"):
            self._optimizer.step(factor, steps, first)

    def _finish(self, name, parameter):
        """Reports that a parameter's gradient is final."""
        if name in self._final:
            raise ConfigError(
                f"TorchModel.make must give a module whose gradients are final once in a backward "
                f"pass, got {name} twice; checkpoint with use_reentrant=False"
            )
        self._final.add(name)
        self._marks.finish(name)
        if not self._device.is_gpu and name in self._after:  # a GPU's is not on the host
            self._after.pop(name)()

    def _output(self, batch):
        with self.lock, torch.no_grad(), self._device.computing("buffers"), self._views.in_use():
            self.module.eval()
            y = run_module(self.module, *self._inputs(batch))
            return np.array(y.numpy(force=True), order="C")

    def _inputs(self, batch):
        """Returns the module's inputs: the features, and a mask of their steps if it takes one."""
        x = input_tensor(batch.columns[INPUT], self.conf, self._device.name)
        if self.conf.padding != MASK:
            return (x,)
        mask = batch.columns.get(mask_of(INPUT))
        there = np.ones(x.shape[:2], bool) if mask is None else np.asarray(mask) != 0
        return x, torch.from_numpy(there).to(self._device.name)


class QueuedMarks:
    """Marks on a device's queue, each after the gradients of a group of parameters.

    Parameters
    ----------
    queued : [(parameters' names, function (mark))]
        See Replica.gradient.
    make : function
        Returns a mark after the work that is queued now.
    """

    def __init__(self, queued, make):
        self._functions, self._make = [function for _, function in queued], make
        self._left = [set(names) for names, _ in queued]
        self._place = {name: i for i, (names, _) in enumerate(queued) for name in names}
        self._marks = {}

    def finish(self, name):
        """Records that a parameter's gradient is final after the work queued now."""
        place = self._place.get(name)
        if place is not None:
            self._left[place].discard(name)
            if not self._left[place]:
                self._marks[place] = self._make()

    def close(self):
        """Adds the marks of groups that the backward pass did not complete."""
        for place in range(len(self._functions)):
            if place not in self._marks:
                self._marks[place] = self._make()

    def call(self):
        """Calls each function with its mark."""
        for place, function in enumerate(self._functions):
            function(self._marks[place])
