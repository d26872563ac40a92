"""Strategy of ParameterServer in a worker, which trains and may also serve parameters."""

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.nn import initial_slots
from sparkdl.nn.networks.section import sections
from sparkdl.nn.optimization.loss_scale import FLOAT16
from sparkdl.training.resident.buffer_mean import mean_buffers
from sparkdl.training.resident.per_worker_state import (
    RESIDUAL,
    copy_worker_state,
    prefix,
    worker_state_part,
)
from sparkdl.training.resident.strategy import Strategy

PUSHES = "pushes"


class ParameterServerWorker(Strategy):
    """Pushes sums of gradients, weighted by examples, and pulls parameters into its replica.

    A worker that has finished its part of a round is suspended: nobody waits for its pushes. Once
    all are suspended, they pull the same parameters and continue together.
    """

    def __init__(self, master, worker):
        super().__init__(master, worker)
        if master.backup >= worker.size:
            raise ConfigError(
                f"ParameterServer.backup must be below {worker.size}, the number of workers, "
                f"got {master.backup}"
            )
        ranks = list(range(min(master.servers or worker.size, worker.size)))
        parts = sections(worker.conf, len(ranks))
        self._sections = {f"params/{i}": section for i, section in enumerate(parts)}
        self._begun, self._kept = worker.iteration, worker.replica.slots.copy()
        self._slots = {key: s.slots_in(self._kept) for key, s in self._sections.items()}
        self._sum, self._weight, self._count = np.zeros_like(worker.replica.grad), 0.0, 0
        self._own_age = 0
        self._store = worker.store(
            servers=ranks,
            mode=master.mode,
            backup=master.backup,
            staleness=master.staleness,
            combine="mean",
        )
        self._start()

    def round(self, steps):
        trained = 0
        self._begin()
        for number, step in enumerate(steps, 1):
            trained += self._gradient(step)
            if number % self.master.push_every == 0:
                self._push()
            if number % self.master.fetch_every == 0:
                self.worker.replica.rescale()
                self._pull()
            else:
                self._update_own()
        self._push()
        self._meet()
        mean_buffers(self.worker, trained)

    def state(self):
        with self.worker.exchanging():
            for rank, slots in enumerate(self._slots.values()):
                for view in slots.values():
                    self.worker.group.broadcast(view, rank)
        replica = self.worker.replica
        return {"params": replica.params, "buffers": replica.buffers, "slots": self._kept}

    def worker_state(self):
        """Returns the codec's state for pushes: residuals as one vector, everything else by key."""
        states = {key: self._store.compression_state(key) for key in self._sections}
        if not all(states.values()):
            return {}
        residual = np.zeros_like(self.worker.replica.params)
        for key, view in self._parts(residual).items():
            view[:] = states[key].pop(RESIDUAL)
        others = {f"{name}.{key}": x for key, state in states.items() for name, x in state.items()}
        return prefix(PUSHES, {RESIDUAL: residual} | others)

    def close(self) -> None:
        self._store.abandon()

    def _start(self) -> None:
        """Hands the initial parameters and codec state to the store."""
        self._store.set_optimizer(self._update, with_context=True)
        if self.master.codec is not None:
            self._store.set_compression(self.master.codec)
        for place, (key, part) in enumerate(self._parts(self.worker.replica.params).items()):
            self._store.init(key, part, at=place)
        if self.worker.saved_state:
            self._restore(worker_state_part(PUSHES, self.worker.saved_state))

    def _restore(self, saved_state):
        """Restores the codec's state; a new key takes over the state of the first one."""
        first, residual = next(iter(self._sections)), np.zeros_like(self.worker.replica.params)
        copy_worker_state(saved_state, RESIDUAL, residual)
        for key, part in self._parts(residual).items():
            names = self._store.compression_state(key)
            of_first = {n: saved_state.get(f"{n}.{first}") for n in names}
            state = {n: saved_state.get(f"{n}.{key}", of_first[n]) for n in names}
            state = {n: vector for n, vector in state.items() if vector is not None}
            self._store.restore_compression(key, state | {RESIDUAL: part})

    def _begin(self) -> None:
        """Resets the optimizer state that the worker uses for its own updates between two pulls."""
        if self.master.fetch_every > 1:
            np.copyto(self.worker.replica.slots, initial_slots(self.worker.conf))
            self._own_age = 0

    def _gradient(self, step):
        """Adds the gradient of a step to those waiting to be pushed; returns its examples."""
        self.worker.gradient(step)
        examples, grad = len(step.batch), self.worker.replica.grad
        if self.worker.conf.dtype == FLOAT16 and not np.isfinite(grad).all():
            return examples
        with np.errstate(all="ignore"):  # checked for non-finite numbers when the round ends
            self._sum += np.float32(examples) * grad
        self._weight += examples
        self._count += 1
        return examples

    def _push(self) -> None:
        """Pushes the sum of the accumulated gradients, if there are any."""
        if not self._count:
            return
        if self.master.codec is not None:
            self.worker.clear_fixed(self._sum)
        parts = self._parts(self._sum)
        with self.worker.exchanging():
            outcomes = self._store.push(
                list(parts), list(parts.values()), weight=self._weight / self._count
            )
        if any(outcome.dropped for outcome in outcomes):  # by at least one server
            self.worker.metrics.dropped += self._count
        self._sum[:], self._weight, self._count = 0, 0.0, 0

    def _pull(self) -> None:
        parts = self._parts(self.worker.replica.params)
        with self.worker.exchanging():
            versions = self._store.pull(list(parts), list(parts.values()))
        self.worker.iteration = self._begun + max(versions)

    def _update_own(self) -> None:
        worker, self._own_age = self.worker, self._own_age + 1
        rate = worker.rate_of(worker.conf, worker.iteration)
        worker.replica.apply(rate, self._own_age)

    def _meet(self) -> None:
        """Waits until all have pushed and pulled, before any of them pushes again."""
        with self.worker.exchanging():
            self._store.suspend()
            self.worker.group.barrier()
            self._pull()
            self._store.resume()
            self.worker.group.barrier()

    def _parts(self, vector):
        return {key: vector[section.part] for key, section in self._sections.items()}

    def _update(self, key, value, gradient, _, about):
        """Applies a gradient to a server's parameters; runs in a thread of the store."""
        section, slots = self._sections[key], self._slots[key]
        iteration = self._begun + about.version
        rate = self.worker.rate_of(section, iteration)
        if self.master.scale_by_staleness:
            rate = rate / max(1, about.others)
        params, after = section.update(value, gradient, slots, rate, iteration + 1)
        if self.master.mode == "hogwild":  # keeps concurrent changes of others
            value += params - value
        else:
            np.copyto(value, params)
        for name, slot in slots.items():
            np.copyto(slot, after[name])
