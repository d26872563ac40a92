"""Parameter server: workers push gradients to servers among them and pull the parameters."""

from collections.abc import Sequence
from typing import Any

from sparkdl.config import Boolean, Choice, Integer, dataclass, option
from sparkdl.errors import ConfigError
from sparkdl.exchange.store import MODES, require_modes
from sparkdl.training.masters.base import ResidentMaster
from sparkdl.training.masters.parameter_server.worker import ParameterServerWorker


@dataclass(frozen=True, kw_only=True)
class ParameterServer(ResidentMaster):
    """Parameter server: workers push gradients to those that store and update the parameters.

    The optimizer runs where the parameters are stored. A layer's parameters stay together; ClipNorm
    needs the whole gradient, so one worker then stores all.

    References
    ----------
    Dean et al., Large scale distributed deep networks (2012), Downpour SGD. Li et al., Scaling
    distributed machine learning with the parameter server (2014). Chen et al., Revisiting
    distributed synchronous SGD (2016), backup workers; TensorFlow's SyncReplicasOptimizer. Ho et
    al., More effective distributed ML via a stale synchronous parallel parameter server (2013).
    Zhang et al., Staleness-aware async-SGD for distributed deep learning (2016). Niu et al.,
    Hogwild (2011).
    """

    mode: str = option(
        Choice(of=MODES),
        '"sync": an update uses the mean gradient of all workers\' minibatches, weighted by '
        'examples. "async": an update uses one worker\'s gradient as soon as it arrives. '
        '"bounded": as "async", but a worker that is more than `staleness` pushes ahead of '
        'another waits before it fetches. "hogwild": as "async", without a lock on the '
        "parameters.",
        default="sync",
    )
    backup: int = option(
        Integer(minimum=0),
        'With "sync": number of backup workers, for which an update does not wait. A late '
        "gradient is dropped and counted in the round's report.",
        default=0,
    )
    staleness: int = option(
        Integer(minimum=0),
        'With "bounded": pushes that a worker may be ahead of another when it fetches; it makes '
        "fetch_every / push_every more until its next fetch.",
        default=0,
    )
    scale_by_staleness: bool = option(
        Boolean(),
        'Whether "async", "bounded" and "hogwild" divide the learning rate of an update by the '
        "number of other workers' updates that its worker had not seen.",
        default=True,
    )
    push_every: int = option(
        Integer(minimum=1),
        "Minibatches between two pushes, with tbptt their chunks, whose gradients are summed. "
        "Downpour SGD's n_push.",
        default=1,
        unit="minibatches",
    )
    fetch_every: int = option(
        Integer(minimum=1),
        "Minibatches between two pulls, with tbptt their chunks; in between, a worker updates its "
        "own copy. Downpour SGD's n_fetch.",
        default=1,
        unit="minibatches",
    )
    updates_per_round: int = option(
        Integer(minimum=1),
        "Pushes of each worker per round. Rounds end together: all workers then have the same "
        "parameters, buffers are averaged, and there is a report.",
        default=50,
    )
    servers: int | None = option(
        Integer(minimum=1),
        "Number of workers, the first ones, that store parameters. None: all.",
        default=None,
    )

    def validate(self) -> None:
        super().validate()
        require_modes(self)

    def check_network(self, conf: Any) -> None:
        super().check_network(conf)
        if not conf.params_layout.size:
            raise ConfigError(
                f"ParameterServer needs a {type(conf).__name__} with parameters, which servers "
                "store, got none; take AllReduceSGD, or add a layer that has some"
            )
        if conf.has_own_optimizer:
            raise ConfigError(
                "ParameterServer trains with optimizers of sparkdl, which move a part of the "
                f"parameters where it is kept; leave {type(conf).__name__}.{conf.optimizer_option} "
                "out, or take AllReduceSGD"
            )

    @property
    def minibatches_per_round(self) -> int:
        return self.updates_per_round * self.push_every

    def minibatches_for(self, updates: int, workers: Any) -> int:
        """Returns the number of minibatches that each worker trains for so many updates.

        Each worker's push is an update of its own, except in mode "sync".
        """
        pushes = updates if self.mode == "sync" else -(-updates // workers)
        return pushes * self.push_every

    def updates_of(self, minibatches: Sequence[int]) -> int:
        pushes = [-(-number // self.push_every) for number in minibatches]
        return max(pushes) if self.mode == "sync" else sum(pushes)

    @property
    def averages_messages(self) -> bool:
        return True

    def strategy(self, worker: Any) -> Any:
        return ParameterServerWorker(self, worker)
