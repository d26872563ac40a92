"""What all TrainingMasters share: the options, and what they say of a fit."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from sparkdl.config.config import written
from sparkdl.data.dealing import WAYS
from sparkdl.errors import require
from sparkdl.exchange.codecs import codec_from_dict
from sparkdl.exchange.devices.choice import WISHES
from sparkdl.exchange.tls import Tls
from sparkdl.nn.device import DEVICES

# On the weights. The number of workers has one, but here it is only asked for.
WITHOUT_EFFECT = {"prefetch", "storage_level", "workers", "timeout", "patience", "snapshot_every"}
WITHOUT_EFFECT |= {"max_restarts", "ports", "interface", "tls"}


@dataclass(frozen=True, kw_only=True)
class TrainingMaster:
    """Who computes what, and when it is exchanged; each has a file of its own.

    A master whose workers start anew in each round has `epoch`; one whose workers stay for the
    whole fit (`resident`) has `strategy`, its half in the workers; see training/resident.

    Parameters
    ----------
    batch_size_per_worker : int
        Examples of a minibatch, at least 1.
    workers : int or None
        None: as many as the cluster runs at once. The result depends on it.
    prefetch : int
        Minibatches made ready ahead; 0 for none.
    repartition : str
        "always": deal records to workers at random; "uneven": only if partitions are small or
        uneven; "never": a worker's block comes from one partition.
    storage_level : str
        Where Spark keeps blocks, a name of pyspark.StorageLevel.
    seed : int or None
        Of the order of records; None: the network's.
    device : str
        Where workers compute, and where the network is used. "auto": on a GPU where the worker has
        one, which its log and the History tell; "cpu": on none; "cuda": on a GPU, or it is an error
        that says why there is none. A Spark task that owns several GPUs has a worker on each only
        where the master is `resident`; else, and in use, it computes on the first.
    backend : str
        Which engine of the processor; "auto": oneDNN where it is installed, else the reference. One
        that is named is an engine of the processor, so "auto" then takes no GPU.
    """

    batch_size_per_worker: int = 64
    workers: int | None = None
    prefetch: int = 2
    repartition: str = "uneven"
    storage_level: str = "MEMORY_AND_DISK"
    seed: int | None = None
    device: str = "auto"
    backend: str = "auto"

    resident = False

    def __post_init__(self):
        require_whole(self, "batch_size_per_worker")
        require(self, "prefetch", whole(self.prefetch, 0), "an integer >= 0")
        sound = self.workers is None or whole(self.workers, 1)
        require(self, "workers", sound, "an integer >= 1 or None")
        seed = self.seed is None or (whole(self.seed, 0) and self.seed < 2**63)
        require(self, "seed", seed, "an integer in [0, 2^63) or None")
        require(self, "repartition", self.repartition in WAYS, f"one of {WAYS}")
        for name in ("storage_level", "backend"):
            value = getattr(self, name)
            require(self, name, isinstance(value, str) and value != "", "a name")
        require(self, "device", self.device in DEVICES, f"one of {DEVICES}")
        of_cpu = self.backend != "cuda" and (self.backend == "auto" or self.device != "cuda")
        cure = "it names an engine of the processor: give device='cuda' alone"
        require(self, "backend", of_cpu, "'auto' for a GPU", cure)

    @property
    def task_device(self):
        """What Spark's tasks are told of `device`: "cpu" where `backend` names an engine."""
        return self.device if self.backend == "auto" else "cpu"

    @property
    def minibatches_per_round(self):
        """Of each worker."""
        raise NotImplementedError

    @property
    def records_per_block(self):
        """What a worker trains on in a round."""
        return self.batch_size_per_worker * self.minibatches_per_round

    def minibatches_for(self, updates, workers):
        """Minibatches that each of the workers trains for so many updates."""
        return updates

    def updates_of(self, minibatches):
        """Updates of a round, or of a part of it, in which workers train so many minibatches."""
        return max(minibatches)

    def to_dict(self):
        """The options by name, as JSON has them."""
        options = {item.name: getattr(self, item.name) for item in fields(self)}
        return {
            name: asdict(value) if isinstance(value, Tls) else written(value)
            for name, value in options.items()
        }

    def identity(self):
        """The options that the weights depend on: a run that is resumed must have the same."""
        return {n: value for n, value in self.to_dict().items() if n not in WITHOUT_EFFECT}

    def rounds_in_epoch(self, workers, blocks):
        """Rounds that an epoch over `blocks` takes."""
        return -(-len(blocks.sizes) // workers.size)


@dataclass(frozen=True, kw_only=True)
class ResidentMaster(TrainingMaster):
    """A master whose workers stay for the whole fit and talk to each other.

    Parameters
    ----------
    timeout : float
        Seconds of silence after which a worker, or the driver, counts as lost.
    patience : float
        Seconds that a worker which lives may keep the others waiting.
    snapshot_every : int
        Rounds after which the driver is sent the state, besides after each epoch: what a fit goes
        back to when a worker is lost.
    max_restarts : int
        How often in a fit workers are launched again after one was lost.
    ports : str
        On which processes listen: "0" (any), "40000" or a range "40000-40100".
    interface : str or None
        Interface, address or network on which workers listen; None: SPARKDL_INTERFACE, else the one
        that reaches the driver.
    tls : Tls, the dict of one, or None
        Certificates, at the same paths on the driver and all executors: with them connections are
        encrypted.
    shared_memory : bool
        Whether workers of one machine exchange through its memory.
    exchange : str
        "auto": between GPUs by NCCL, where all workers have one of their own, and NCCL; "nccl": so,
        or not at all; "sockets": through the hosts. Codecs, and stores, always use the hosts.
    codec : Codec, the dict of one, or None
        What gradients, or changes of weights, are encoded with on their way; what an encoding
        leaves out is sent later. Buffers and updater state travel as they are.
    """

    timeout: float = 60.0
    patience: float = 600.0
    snapshot_every: int = 100
    max_restarts: int = 3
    ports: str = "0"
    interface: str | None = None
    tls: Any = None
    shared_memory: bool = True
    exchange: str = "auto"
    codec: Any = None

    resident = True

    def __post_init__(self):
        super().__post_init__()
        for name in ("timeout", "patience"):
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            require(self, name, number and value > 0, "a number of seconds above 0")
        require_whole(self, "snapshot_every")
        require_whole(self, "max_restarts", 0)
        require(self, "ports", isinstance(self.ports, str) and self.ports != "", "ports")
        named = self.interface is None or (isinstance(self.interface, str) and self.interface)
        require(self, "interface", bool(named), "a name, an address or None")
        if isinstance(self.tls, dict) and set(self.tls) == {item.name for item in fields(Tls)}:
            object.__setattr__(self, "tls", Tls(**self.tls))
        sound = self.tls is None or isinstance(self.tls, Tls)
        require(self, "tls", sound, "certificate, key and authorities, or None")
        require_flag(self, "shared_memory")
        require(self, "exchange", self.exchange in WISHES, f"one of {WISHES}")
        if self.codec is not None:  # by name, as a configuration has it, or itself
            object.__setattr__(self, "codec", codec_from_dict(self.codec))

    def strategy(self, worker):
        """The master's half in a worker; see resident.strategy.Strategy."""
        raise NotImplementedError


def whole(value, least):
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def require_whole(config, field, least=1):
    """ConfigError unless the option is an integer of at least so much."""
    require(config, field, whole(getattr(config, field), least), f"an integer >= {least}")


def require_flag(config, field):
    """ConfigError unless the option is True or False."""
    require(config, field, isinstance(getattr(config, field), bool), "True or False")
