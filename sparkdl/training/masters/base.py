"""Base classes of the TrainingMasters: shared options, and the way a fit is described."""

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar

from sparkdl.config import (
    Boolean,
    Choice,
    Config,
    Integer,
    Member,
    Nested,
    Number,
    Of,
    Optional,
    Size,
    Text,
    dataclass,
    option,
)
from sparkdl.config.field_types import OptionalAnyOf, OptionalNested
from sparkdl.data.batches.dealing import WAYS
from sparkdl.errors import ConfigError, require
from sparkdl.exchange.codecs import Codec
from sparkdl.exchange.connections.tls import Tls
from sparkdl.exchange.devices.choice import WISHES
from sparkdl.nn.execution.device import DEVICES, backend_names, device_for
from sparkdl.nn.optimization.weight_average import averaged_groups
from sparkdl.training.rounds.replica import replica_for
from sparkdl.training.saving.stored_tables import read_tables

# Options without effect on the weights, but for rounding by `recompute`. The number of workers is
# checked elsewhere.
WITHOUT_EFFECT = {
    "prefetch",
    "storage_level",
    "workers",
    "timeout",
    "stall_timeout",
    "snapshot_every",
    "snapshot_seconds",
}
WITHOUT_EFFECT |= {"max_restarts", "ports", "interface", "tls", "integrity"}
WITHOUT_EFFECT |= {"shard", "tables", "table_folder", "recompute", "rescale_every"}


@dataclass(frozen=True, kw_only=True)
class TrainingMaster(Member):
    """Base of all masters, which define what each worker computes and when workers exchange.

    A master whose workers start anew in each round implements `epoch`; one whose workers stay for
    the whole fit (`resident`) implements `strategy`, which runs in the workers; see
    training/resident.
    """

    complete: ClassVar = True
    resident = False

    batch_size_per_worker: int = option(Size(minimum=1), "Examples per minibatch.", default=64)
    workers: int | None = option(
        Integer(minimum=1),
        "Number of logical workers; the trained weights depend on it. If there are fewer slots, "
        "a task runs several workers. None: as many as the cluster runs at once.",
        default=None,
    )
    prefetch: int = option(Integer(minimum=0), "Minibatches prepared ahead; 0 for none.", default=2)
    repartition: str = option(
        Choice(of=WAYS),
        '"always": distribute records to workers at random; "uneven": only if partitions are '
        'small or uneven; "never": a worker\'s block comes from one partition.',
        default="uneven",
    )
    storage_level: str = option(
        Text(what="a name"),
        "Storage level of the blocks when the driver averages: a name of pyspark.StorageLevel.",
        default="MEMORY_AND_DISK",
    )
    seed: int | None = option(
        Integer(minimum=0, below=2**63),
        "Seed of the order of records; None: the network's.",
        default=None,
    )
    device: str = option(
        Choice(of=DEVICES),
        'Device for training and inference. "auto": a GPU if the worker has one, as its log and '
        'the History show; "cpu": no GPU; "cuda": a GPU, or an error that says why there is '
        "none. A Spark task that owns several GPUs runs a worker on each only if workers stay "
        "for the whole fit; otherwise, and for inference, it uses the first.",
        default="auto",
    )
    backend: str = option(
        Text(what="a name"),
        'CPU engine. "auto": oneDNN if it is installed, else the reference. If an engine is '
        'named, device="auto" uses no GPU.',
        default="auto",
    )

    def validate(self) -> None:
        super().validate()
        known, cure = backend_names(), "it names a CPU engine; exchange= says how workers exchange"
        require(self, "backend", self.backend in known, f"one of {known}", cure)
        of_cpu = self.backend != "cuda" and (self.backend == "auto" or self.device != "cuda")
        cure = "it names a CPU engine: give device='cuda' alone"
        require(self, "backend", of_cpu, "'auto' for a GPU", cure)

    @property
    def task_device(self) -> str:
        """The `device` of Spark's tasks: "cpu" where `backend` names an engine."""
        return self.device if self.backend == "auto" else "cpu"

    def for_network(self, conf: Any) -> "TrainingMaster":
        """Returns the master with the device of a network; see nn.execution.device.device_for."""
        device = device_for(conf, self.device)
        return self if device == self.device else replace(self, device=device)

    def resolve(
        self, workers: Any, extra: dict[str, Any]
    ) -> tuple["TrainingMaster", str | None, "TrainingMaster | None"]:
        """Returns (the master to train with, the reason for it, a substitute without a group).

        The reason is a text for the History, or None. The substitute takes over where workers do
        not reach each other; None: there is none.

        Parameters
        ----------
        workers : Workers
        extra : dict
            Of the checkpoint that a fit goes on from; empty where there is none.
        """
        return self, None, None

    def check_network(self, conf: Any) -> None:
        """Raises ConfigError where a network cannot be trained with these options."""
        if conf.bags:
            raise ConfigError(
                f"GraphConf.bags must be none with {type(self).__name__}, which does not exchange "
                "tables; AllReduceSGD does"
            )
        for group, _ in averaged_groups(conf.groups) if self.ema_cure else ():
            optimizer = group.optimizer
            raise ConfigError(
                f"{optimizer.type_name}.ema_decay must be None with {type(self).__name__}, got "
                f"{optimizer.ema_decay}; {self.ema_cure}"
            )

    @property
    def ema_cure(self) -> str:
        """The cure where optimizers cannot average the weights (ema_decay); empty: they can."""
        return ""

    @property
    def minibatches_per_round(self) -> int:
        """The minibatches of each worker in a round."""
        raise NotImplementedError

    @property
    def records_per_block(self) -> int:
        """The records that a worker trains on in a round."""
        return self.batch_size_per_worker * self.minibatches_per_round

    def minibatches_for(self, updates: int, workers: Any) -> int:
        """Returns the number of minibatches that each worker trains for so many updates."""
        return updates

    def updates_of(self, minibatches: Sequence[int]) -> int:
        """Updates of a round, or of a part of it, in which workers train so many minibatches."""
        return max(minibatches)

    def to_dict(self) -> dict[str, Any]:
        """Returns the options by name, as JSON has them."""
        return Config.to_dict(self)

    def shown_options(self) -> dict[str, Any]:
        """Returns the type, and the options that are not their defaults, for people to read.

        Where keys of TLS lie is not among them.
        """
        defaults = {item.name: item.default for item in fields(self)}
        shown = {
            name: value
            for name, value in self.to_dict().items()
            if name != "tls" and getattr(self, name) != defaults.get(name)
        }
        return {"type": type(self).__name__} | shown

    def identity(self) -> dict[str, Any]:
        """Returns the options that the weights depend on: a resumed run must have the same."""
        return {n: value for n, value in self.to_dict().items() if n not in WITHOUT_EFFECT}

    def owner(self) -> str:
        """Returns a text, the same for masters that can go on from each other's workers' states."""
        options = {n: value for n, value in self.identity().items() if n != "seed"}
        return json.dumps({"master": type(self).__name__} | options, sort_keys=True)

    def rounds_in_epoch(self, workers: Any, blocks: Any) -> int:
        """Returns the number of rounds of an epoch over `blocks`."""
        return -(-len(blocks.sizes) // workers.size)


@dataclass(frozen=True, kw_only=True)
class ResidentMaster(TrainingMaster, abstract=True):
    """A master whose workers stay for the whole fit and communicate with each other."""

    resident = True

    timeout: float = option(
        Number(above=0),
        "Silence after which a worker, or the driver, counts as lost.",
        default=60.0,
        unit="seconds",
    )
    stall_timeout: float = option(
        Number(above=0),
        "Longest time that a live worker may keep the others waiting.",
        default=600.0,
        unit="seconds",
    )
    snapshot_every: int = option(
        Integer(minimum=1),
        "Rounds between two snapshots, in which the driver receives the state; an epoch ends "
        "with one too. When a worker is lost, the fit goes back to the last snapshot. With a "
        "codec each worker also sends its residual, a vector as long as the weights; if the "
        "number of workers has changed, worker r continues with the residual of worker r modulo "
        "the old number, and the sum of the residuals is preserved.",
        default=100,
        unit="rounds",
    )
    snapshot_seconds: float | None = option(
        Optional(of=Number(above=0)),
        "Time after which the driver also asks for a snapshot, at the end of a round, so that a "
        "lost worker costs no more. If sending takes long, snapshots take a 50th of the time. "
        "None: only by rounds.",
        default=1.0,
        unit="seconds",
    )
    max_restarts: int = option(
        Integer(minimum=0),
        "Largest number of restarts of a fit's workers after one was lost; moves by "
        "rescale_every do not count.",
        default=3,
    )
    rescale_every: int = option(
        Integer(minimum=1),
        "Rounds between two checks of the executors. Workers that share tasks, because there "
        "were fewer slots than workers, spread over new executors; with "
        "spark.decommission.enabled they leave executors that are being decommissioned. They "
        "restart with their current weights, as History.restarts shows. On several hosts "
        "shared_memory=False keeps the order of sums, and so bit-identical weights.",
        default=1,
        unit="rounds",
    )
    ports: str = option(
        Text(what="a port or a range"),
        'Ports on which processes listen: "0" (any), "40000" or a range "40000-40100".',
        default="0",
    )
    interface: str | None = option(
        Text(what="a name or an address"),
        "Interface, address or network on which workers listen; None: SPARKDL_INTERFACE, else "
        "the one that reaches the driver.",
        default=None,
    )
    tls: OptionalNested[Tls] = option(
        Nested(of=Tls),
        "Encrypts connections. Tls() makes a key and a certificate for the fit; "
        "Tls(certificate=...) takes files, at the same paths on the driver and all executors. "
        "NCCL traffic is not encrypted; exchange='sockets' avoids NCCL.",
        default=None,
    )
    integrity: bool = option(
        Boolean(),
        "Whether frames carry keyed checksums, so that bytes changed in transit are an error; "
        "only the fit's processes have the key. tls has its own. NCCL traffic has none.",
        default=False,
    )
    shared_memory: bool = option(
        Boolean(), "Whether workers on one machine exchange through shared memory.", default=True
    )
    exchange: str = option(
        Choice(of=WISHES),
        '"auto": NCCL if all workers have a GPU of their own and NCCL, else through the hosts; '
        '"nccl": NCCL, or an error; "sockets": through the hosts. Codecs and key-value stores '
        "always go through the hosts.",
        default="auto",
    )
    codec: OptionalAnyOf[Codec] = option(
        Of(family=Codec),
        "Codec that compresses gradients, or weight changes, for sending. What an encoding "
        "leaves out is sent later (error feedback), also by a fit that resumes from a snapshot "
        "or checkpoint, or follows another fit with the same options. Buffers and optimizer "
        "state are not compressed.",
        default=None,
    )

    def validate(self) -> None:
        super().validate()
        on_gpus = self.device != "cpu" and self.backend == "auto"
        cure = "as workers compute on processors; NCCL links GPUs"
        possible = on_gpus or self.exchange != "nccl"
        require(self, "exchange", possible, "'auto' or 'sockets'", cure)

    @property
    def averages_messages(self) -> bool:
        """True if the sum of encoded vectors is divided by the number of workers or examples."""
        return False

    def replica(self, setup: Any, group: Any, share: Any) -> Any:
        """Returns the Replica of a worker, loaded with the state that all workers start from.

        Parameters
        ----------
        setup : FitSetup
        group : Group
        share : {name: vector}
            Data that the driver has sent to this worker only.
        """
        replica, state = replica_for(setup.conf, self.device, self.backend), setup.state
        replica.load(state.params, state.buffers, state.slots)
        replica.load_tables(read_tables(state.tables))
        return replica

    def divide_state(self, conf: Any, state: Any, workers: int) -> Any:
        """Returns (the TrainState sent to all workers, function (rank)), in the driver.

        The function gives {name: vector}, data sent to that worker only, besides its own state.
        """
        return state, lambda rank: {}

    def join_state(self, conf: Any, fields: Any, sent: Any) -> Any:
        """Returns the fields of a complete TrainState after a snapshot, in the driver.

        `sent` are the tables of the TrainState that was sent to all workers.
        """
        return fields

    def strategy(self, worker: Any) -> Any:
        """Returns the strategy that runs in a worker; see resident.strategy.Strategy."""
        raise NotImplementedError
