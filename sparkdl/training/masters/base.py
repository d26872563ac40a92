"""Bases of the TrainingMasters: shared options, and how they describe a fit."""

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
from sparkdl.nn.execution.device import DEVICES, device_for
from sparkdl.training.rounds.replica import replica_for
from sparkdl.training.saving.stored_tables import read_tables

# On the weights. The number of workers has one, but here it is only asked for.
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
    """Defines which worker computes what, and when they exchange; each has a file of its own.

    A master whose workers start anew in each round has `epoch`; one whose workers stay for the
    whole fit (`resident`) has `strategy`, its half in the workers; see training/resident.
    """

    complete: ClassVar = True
    resident = False

    batch_size_per_worker: int = option(Size(minimum=1), "Examples of a minibatch.", default=64)
    workers: int | None = option(
        Integer(minimum=1),
        "Number of logical workers, on which the result depends. Where there are fewer slots, "
        "tasks have several. None: as many as the cluster runs at once.",
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
        "Storage level of the blocks in rounds of the driver, a name of pyspark.StorageLevel.",
        default="MEMORY_AND_DISK",
    )
    seed: int | None = option(
        Integer(minimum=0, below=2**63),
        "Seed of the order of records; None: the network's.",
        default=None,
    )
    device: str = option(
        Choice(of=DEVICES),
        'Device of the workers, and of the network in use. "auto": a GPU where the worker has '
        'one, which its log and the History show; "cpu": none; "cuda": a GPU, or it is an error '
        "that says why there is none. A Spark task that owns several GPUs has a worker on each "
        "only where workers stay for the whole fit; else, and in use, it computes on the first.",
        default="auto",
    )
    backend: str = option(
        Text(what="a name"),
        'Engine of the processor; "auto": oneDNN where it is installed, else the reference. One '
        'that is named is an engine of the processor, so "auto" then takes no GPU.',
        default="auto",
    )

    def validate(self) -> None:
        super().validate()
        of_cpu = self.backend != "cuda" and (self.backend == "auto" or self.device != "cuda")
        cure = "it names an engine of the processor: give device='cuda' alone"
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
    """A master whose workers stay for the whole fit and talk to each other."""

    resident = True

    timeout: float = option(
        Number(above=0),
        "Silence after which a worker, or the driver, counts as lost.",
        default=60.0,
        unit="seconds",
    )
    stall_timeout: float = option(
        Number(above=0),
        "Time that a worker that lives may keep the others waiting.",
        default=600.0,
        unit="seconds",
    )
    snapshot_every: int = option(
        Integer(minimum=1),
        "Rounds after which the driver is sent the state, besides after each epoch: the fit "
        "goes back to it when a worker is lost. With a codec each worker also sends what it "
        "keeps back, a vector as long as the weights; if then there are other workers than "
        "before, worker r goes on with what worker r had, modulo the old number, and what was "
        "yet to be sent stays in sum.",
        default=100,
        unit="rounds",
    )
    snapshot_seconds: float | None = option(
        Optional(of=Number(above=0)),
        "Time after which the driver asks for the state as well, at the end of a round, so that a "
        "lost worker costs no more. Where it takes long to send, a 50th of the time goes into "
        "that. None: only by rounds.",
        default=1.0,
        unit="seconds",
    )
    max_restarts: int = option(
        Integer(minimum=0),
        "Restarts of the workers in a fit, each after one was lost; rescale_every has no limit.",
        default=3,
    )
    rescale_every: int = option(
        Integer(minimum=1),
        "Rounds after which the driver looks at the executors. Workers that share tasks, as there "
        "were fewer slots than workers, spread over executors that have come; with "
        "spark.decommission.enabled they leave those that are being decommissioned. They start "
        "anew with the weights they have, and History.restarts says so. Over several hosts "
        "shared_memory=False keeps the order of sums, and so the bits.",
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
        "With it connections are encrypted. Tls() makes a key and a certificate for the fit; "
        "Tls(certificate=...) takes files, at the same paths on the driver and all executors. "
        "What NCCL sends is not encrypted: exchange='sockets' is without it.",
        default=None,
    )
    integrity: bool = option(
        Boolean(),
        "Whether frames carry checksums under a key that only the fit's processes have, so that "
        "bytes changed on their way are an error; tls has its own. What NCCL sends has none.",
        default=False,
    )
    shared_memory: bool = option(
        Boolean(), "Whether workers of one machine exchange through its memory.", default=True
    )
    exchange: str = option(
        Choice(of=WISHES),
        '"auto": between GPUs by NCCL, where all workers have one of their own, and NCCL; '
        '"nccl": so, or not at all; "sockets": through the hosts. Codecs, and stores, always '
        "use the hosts.",
        default="auto",
    )
    codec: OptionalAnyOf[Codec] = option(
        Of(family=Codec),
        "Codec of gradients, or changes of weights, on their way; what an encoding leaves out "
        "is sent later, also by a fit that goes on from a snapshot or checkpoint, or after "
        "another fit with the same options. Buffers and optimizer state travel as they are.",
        default=None,
    )

    @property
    def averages_messages(self) -> bool:
        """True if the sum of encoded vectors is divided by the number of workers or examples."""
        return False

    def replica(self, setup: Any, group: Any, share: Any) -> Any:
        """Returns the Replica of a worker, loaded with the state that all start from.

        Parameters
        ----------
        setup : FitSetup
        group : Group
        share : {name: vector}
            What the driver has sent this worker alone.
        """
        replica, state = replica_for(setup.conf, self.device, self.backend), setup.state
        replica.load(state.params, state.buffers, state.slots)
        replica.load_tables(read_tables(state.tables))
        return replica

    def divide_state(self, conf: Any, state: Any, workers: int) -> Any:
        """Returns (the TrainState that all workers are sent, function (rank)), in the driver.

        The function gives {name: vector}, what that worker is sent alone besides its own state.
        """
        return state, lambda rank: {}

    def join_state(self, conf: Any, fields: Any, sent: Any) -> Any:
        """Returns the fields of a TrainState after a snapshot, in the driver: it is whole again.

        `sent` are the tables of the TrainState that all workers were sent.
        """
        return fields

    def strategy(self, worker: Any) -> Any:
        """Returns the strategy that runs in a worker; see resident.strategy.Strategy."""
        raise NotImplementedError
