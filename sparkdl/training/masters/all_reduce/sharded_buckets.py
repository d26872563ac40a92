"""Gradient buckets for sharded state: each is reduce-scattered to the workers that update it."""

from weakref import WeakKeyDictionary

from sparkdl.errors import UnsupportedError
from sparkdl.training.masters.all_reduce.buckets import Buckets
from sparkdl.training.masters.all_reduce.step_plan import exchanges, step_plan


class OwnBuckets(Buckets):
    """Like Buckets, but each worker receives the mean of only its own part, in `replica.own_grad`.

    The gradient is allocated from `begin` to `end`; the parameters are always allocated.
    """

    def begin(self, weight):
        super().begin(weight)
        for part in self._slices:
            self._pages["grad"].acquire(part)

    def end(self) -> None:
        super().end()
        for part in self._slices:
            self.worker.replica.take_gradient(part)
            self._pages["grad"].release(part)

    @property
    def _pages(self):
        return self.worker.replica.pages

    def _start(self, place):
        view = self.grad[self._slices[place]]
        self._pending.append(self.worker.group.start_reduce_scatter(view))

    def own_share(self, place):
        """Returns this worker's share of a bucket of parameters, after an update."""
        view = self.worker.replica.params[self._slices[place]]
        return view[self.worker.group.part(len(view))]

    def start_gather(self, place):
        """Starts to fill a bucket of `replica.params` with the parts of all workers."""
        view = self.worker.replica.params[self._slices[place]]
        return self.worker.group.start_all_gather(self.own_share(place), view)

    def gather(self):
        """Fills all of `replica.params` with the parts of all workers."""
        with self.worker.exchanging():
            for pending in [self.start_gather(i) for i in range(len(self._slices))]:
                pending.wait()


class PagedBuckets(OwnBuckets):
    """Like OwnBuckets, but a bucket of the gradient is freed as soon as it has been reduced.

    If parameters are paged as well, a bucket of them is gathered before the first call that reads
    it, overlapping with earlier calls, and freed after the last one before other buckets are read.
    The plan of these actions follows from the network's program and is the same on all workers; a
    worker without a minibatch runs the plan without computing.
    """

    def __init__(self, worker, nbytes, batch_size):
        super().__init__(worker, nbytes)
        self._batch_size = batch_size
        self._plans, self._order, self._gathers = WeakKeyDictionary(), None, {}
        self._actions = {
            "open": self._open,
            "reduce": self._reduce,
            "gather": self._gather,
            "await": self._await,
            "free": self._free,
        }

    def begin(self, weight):
        Buckets.begin(self, weight)

    def last(self, step, weight):
        self._weight = weight
        self.worker.gradient(step, self._hooks)

    def add_zeros(self) -> None:
        self._weight = 0
        plan = self._plan(self._usual_program)
        for step in sorted(plan):
            self._act(plan[step])

    def end(self) -> None:
        self._finish(len(self._slices) - 1)

    def own_share(self, place):
        replica = self.worker.replica
        return replica.own_params[replica.part.local(self._slices[place])]

    def open_params(self) -> None:
        """Gathers all parameters for use; `close_params` frees them."""
        for place in range(len(self._slices)):
            self._gather(place)
        for place in range(len(self._slices)):
            self._await(place)

    def close_params(self) -> None:
        for place in range(len(self._slices)):
            self._free(place)

    def _hooks(self, program):
        """Runs the actions due before the program; returns {step: function to call after it}."""
        plan = self._plan(program)
        self._act(plan.get(-1, ()))
        return {step: lambda todo=todo: self._act(todo) for step, todo in plan.items() if step >= 0}

    def _plan(self, program):
        if program not in self._plans:
            plan = self._make_plan(program)
            if self._order is None:
                self._order = exchanges(self._make_plan(self._usual_program))
            if exchanges(plan) != self._order:
                raise UnsupportedError(
                    "AllReduceSGD.shard: minibatches of this shape use the layers in another order "
                    "than those of batch_size_per_worker; give shard='optimizer'"
                )
            self._plans[program] = plan
        return self._plans[program]

    @property
    def _usual_program(self):
        return self.worker.replica.programs(self._batch_size)[0]

    def _make_plan(self, program):
        replica = self.worker.replica
        vectors = {"grad": replica.grad, "params": replica.params}
        touches = {
            name: [program.touches(vectors[name][part]).tolist() for part in self._slices]
            for name in self._pages
        }
        return step_plan(touches["grad"], touches.get("params"))

    def _act(self, todo):
        for action, place in todo:
            self._actions[action](place)

    def _open(self, place):
        self._pages["grad"].acquire(self._slices[place])

    def _reduce(self, place):
        """Starts reducing a bucket, once the previous bucket has been reduced."""
        self._finish(place - 1)
        view = self.grad[self._slices[place]]
        total = self._total_weight()
        if self._weight:
            view *= self._weight / total
        else:
            view[:] = 0
        self._start(place)

    def _finish(self, place):
        """Waits until a bucket has been reduced, keeps this worker's share and frees the rest."""
        if place < 0:
            return
        with self.worker.exchanging():
            self._pending[place].wait()
        self.worker.replica.take_gradient(self._slices[place])
        self._pages["grad"].release(self._slices[place])

    def _gather(self, place):
        self._pages["params"].acquire(self._slices[place])
        self._gathers[place] = self.start_gather(place)

    def _await(self, place):
        with self.worker.exchanging():
            self._gathers.pop(place).wait()

    def _free(self, place):
        self._pages["params"].release(self._slices[place])
