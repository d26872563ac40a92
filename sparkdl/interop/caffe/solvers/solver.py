"""Caffe's solver files: how a net is trained, with Caffe's numbers."""

import re
from dataclasses import dataclass, field

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.messages.file_paths import paths_of
from sparkdl.interop.caffe.messages.origin import blocks, outer_fields
from sparkdl.interop.caffe.messages.prototxt import parse_text, text_of
from sparkdl.interop.caffe.messages.schema import NetParameter, NetState, SolverParameter
from sparkdl.interop.caffe.policies import rate_of, shortest
from sparkdl.nn import AdaDelta, AdaGrad, AdamHat, ClipNorm, Momentum, Nesterov, RmsProp, Sgd
from sparkdl.nn.clipping import Clipping
from sparkdl.nn.optimizers import Optimizer

OLD_TYPES = ("SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam")  # indexed by solver_type
CPU = 0  # value of solver_mode
WITHOUT_EFFECT = ("debug_info", "snapshot_diff", "test_compute_loss")
NETS = ("net", "net_param", "train_net", "train_net_param")


@dataclass(frozen=True, kw_only=True)
class Net:
    """A net of a solver: its file, or its message if inline, and its state."""

    path: str | None = None
    message: NetParameter | None = None
    state: NetState
    text: str = ""  # text of the message, keeping line numbers of the solver's file


@dataclass(frozen=True, kw_only=True)
class CaffeSolverConf:
    """The settings of a solver file.

    Parameters
    ----------
    train : Net
    tests : tuple of Net
    optimizer : Optimizer
        With its learning rate schedule.
    l1, l2 : float
        Weight decay of each kind.
    clipping : Clipping or None
        Limit on the mean gradient of an update; Caffe's limit is on the sum over iter_size
        minibatches.
    max_iter : int
        Updates.
    iter_size : int
        Minibatches accumulated per update.
    test_iter : tuple of int
        Batches of each test net in a test.
    test_interval : int
        Updates between tests; 0: no tests.
    test_initialization : bool
        Whether to test before the first update.
    display : int
        Updates between progress lines; 0: none.
    average_loss : int
        Updates over which a progress line averages the loss.
    snapshot : int
        Updates between snapshots; 0: none.
    snapshot_prefix, snapshot_format : str
        Path prefix; "BINARYPROTO" or "HDF5".
    snapshot_after_train : bool
    seed : int or None
    weights : tuple of str
        Weight files to start from.
    device : str
        "cpu" if the solver says so, else "auto". Caffe's default is a GPU, without which it stops.
    without_effect : tuple of str
        Fields that ask for further logs or files of Caffe, ignored here.
    """

    train: Net
    tests: tuple[Net, ...]
    optimizer: Optimizer
    l1: float
    l2: float
    clipping: Clipping | None
    max_iter: int
    iter_size: int
    test_iter: tuple[int, ...]
    test_interval: int
    test_initialization: bool
    display: int
    average_loss: int
    snapshot: int
    snapshot_prefix: str
    snapshot_format: str
    snapshot_after_train: bool
    seed: int | None
    weights: tuple[str, ...] = field(default=())
    device: str = "auto"
    without_effect: tuple[str, ...] = field(default=())

    @property
    def training(self):
        """Network configuration options given by the solver."""
        options = {
            "optimizer": self.optimizer,
            "l1": self.l1,
            "l2": self.l2,
            "clipping": self.clipping,
        }
        return options | ({} if self.seed is None else {"seed": self.seed})


def read_solver(path):
    """Reads the CaffeSolverConf of a text file, local or a URI.

    Raises
    ------
    ConfigError
        If a field is unknown to Caffe, or options are incompatible.
    DataError
        If the file cannot be read.
    """
    text = text_of(path)
    message = parse_text(text, SolverParameter, path)
    try:
        return solver_of(message, text)
    except ConfigError as error:
        raise ConfigError(f"{place_of_field(text, path, str(error))}: {error}") from error


def place_of_field(text, path, error):
    """Returns the file, and the line of the first field that the error names."""
    known = SolverParameter.DESCRIPTOR.fields_by_name
    lines = {word: line for word, line in outer_fields(text) if word in known}
    line = next((lines[word] for word in re.findall(r"\w+", error) if word in lines), None)
    return path if line is None else f"{path}, line {line}"


def solver_of(message, text=""):
    """Converts a SolverParameter to a CaffeSolverConf; `text` is that of its file."""
    kind = message.regularization_type
    if kind not in ("L1", "L2"):
        raise ConfigError(f"regularization_type must be 'L1' or 'L2', got {kind!r}")
    check_counts(message)
    decay, limit = shortest(message.weight_decay), shortest(message.clip_gradients)
    formats = message.DESCRIPTOR.enum_types_by_name["SnapshotFormat"].values_by_number
    same = "max_iter iter_size test_interval test_initialization display average_loss snapshot"
    same += " snapshot_prefix snapshot_after_train"
    return CaffeSolverConf(
        train=train_net(message, text),
        tests=test_nets(message, text),
        optimizer=optimizer_of(message),
        l1=decay if kind == "L1" else 0.0,
        l2=decay if kind == "L2" else 0.0,
        clipping=ClipNorm(limit=limit / message.iter_size) if limit >= 0 else None,
        test_iter=tuple(message.test_iter),
        snapshot_format=formats[message.snapshot_format].name,
        seed=message.random_seed if message.random_seed >= 0 else None,
        weights=tuple(path for names in message.weights for path in paths_of(names)),
        device="cpu" if message.solver_mode == CPU else "auto",
        without_effect=tuple(name for name in WITHOUT_EFFECT if getattr(message, name)),
        **{name: getattr(message, name) for name in same.split()},
    )


def check_counts(message):
    """Raises ConfigError for an invalid number of steps."""
    for name, least in {"average_loss": 1, "iter_size": 1, "snapshot": 0, "display": 0}.items():
        if getattr(message, name) < least:
            raise ConfigError(f"{name} must be at least {least}, got {getattr(message, name)}")


def train_net(message, text):
    """Returns the Net to train, which must be given in exactly one of four ways."""
    given = [name for name in NETS if message.HasField(name)]
    if len(given) != 1:
        raise ConfigError(f"a solver must have one of {', '.join(NETS)}, got {given or 'none'}")
    state = NetState()
    state.CopyFrom(message.train_state)
    state.phase = 0
    return net_of(getattr(message, given[0]), state, next(iter(blocks(text, given[0])), ""))


def test_nets(message, text):
    """Returns the Nets to test, each with its state."""
    inline = [*message.test_net_param, *message.test_net]
    texts = blocks(text, "test_net_param") or [""] * len(message.test_net_param)
    texts += [""] * len(message.test_net)
    shared = [getattr(message, name) for name in NETS[:2] if message.HasField(name)]
    texts += (blocks(text, "net_param") or [""]) * (len(message.test_iter) - len(inline))
    wanted = len(message.test_iter)
    nets = [*inline, *shared * (wanted - len(inline))] if shared else inline
    if len(nets) != wanted:
        raise ConfigError(
            f"test_iter must have a number for each of {len(nets)} nets, got {wanted}"
        )
    states = list(message.test_state) or [NetState()] * wanted
    if len(states) != wanted:
        raise ConfigError(f"test_state must be given for {wanted} nets or none, got {len(states)}")
    rows = zip(nets, states, texts)
    return tuple(net_of(net, in_test(state), text) for net, state, text in rows)


def in_test(given):
    state = NetState()
    state.CopyFrom(given)
    state.phase = 1
    return state


def net_of(given, state, text=""):
    if isinstance(given, str):
        return Net(path=given, state=state)
    return Net(message=given, state=state, text=text)


def type_of(message):
    """Returns the name of the solver's type; versions before 1.0 used numbers."""
    if not message.HasField("solver_type"):
        return message.type
    if message.HasField("type"):
        raise ConfigError("a solver must have `type` or `solver_type`, got both")
    return OLD_TYPES[message.solver_type]


def optimizer_of(message):
    """Returns the optimizer with Caffe's numbers, and its learning rate schedule."""
    kind, rate = type_of(message), rate_of(message)
    momentum, delta = shortest(message.momentum), shortest(message.delta)
    if kind in ("AdaGrad", "RMSProp") and momentum:
        raise ConfigError(f"momentum must not be given with {kind}, got {momentum}")
    if kind == "SGD":
        return (
            Momentum(learning_rate=rate, momentum=momentum) if momentum else Sgd(learning_rate=rate)
        )
    if kind == "Nesterov":
        return Nesterov(learning_rate=rate, momentum=momentum)
    if kind == "AdaGrad":
        return AdaGrad(learning_rate=rate, epsilon=delta)
    if kind == "RMSProp":
        return RmsProp(learning_rate=rate, decay=shortest(message.rms_decay), epsilon=delta)
    if kind == "AdaDelta":
        return AdaDelta(learning_rate=rate, decay=momentum, epsilon=delta)
    if kind == "Adam":
        second = shortest(message.momentum2)
        return AdamHat(learning_rate=rate, beta1=momentum, beta2=second, epsilon=delta)
    raise ConfigError(f"type must be one of {', '.join(OLD_TYPES)}, got {kind!r}")
