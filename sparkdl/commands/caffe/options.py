"""Options of sparkdl caffe, checked together before anything starts."""

from dataclasses import dataclass

from sparkdl.commands.caffe.flags import CONNECTIONS, FLAGS, FORMATS, TOOLS
from sparkdl.config import suggestion
from sparkdl.errors import ConfigError

OF_NET = ("phase", "level", "stage")  # flags that choose the layers of a net
OF_TIME = ("iterations", *OF_NET)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a run.

    Parameters
    ----------
    train : bool
    use : str or None
        "test" or "features": use of the model, after training if `train`.
    conf, model, output, snapshot, weights : str or None
    validations : str or None
        Folder for the results of tests during training.
    features : tuple of str
        Blobs to write, including that of the labels.
    output_format, connection : str
    devices : int
    cluster_size, lmdb_partitions : int or None
    persistent, resize : bool
    shapes : {blob: shape of one example}
    notes : tuple of str
        On flags with no effect, or with another effect than in Caffe.
    """

    train: bool
    use: str | None
    conf: str
    model: str | None
    output: str
    validations: str | None
    snapshot: str | None
    weights: str | None
    features: tuple[str, ...]
    output_format: str
    connection: str
    devices: int
    cluster_size: int | None
    lmdb_partitions: int | None
    persistent: bool
    resize: bool
    shapes: dict[str, tuple[int, ...]]
    notes: tuple[str, ...]

    @property
    def weights_in_use(self):
        """File of the model that is used without training."""
        return self.model or self.weights


def options_of(given):
    """Converts parsed arguments to Options.

    Raises
    ------
    ConfigError
        If flags are wrong, missing or incompatible; the message names the cure.
    """
    check_known(given)
    check_values(given)
    modes = getattr(given, "modes", [])
    use = next((mode for mode in reversed(modes) if mode != "train"), None)
    check_paths(given, modes)
    return Options(
        train="train" in modes,
        use=use,
        conf=given.conf,
        model=given.model,
        output=given.output or "output",
        validations=None if use else given.output,
        snapshot=given.snapshot,
        weights=given.weights,
        features=features_of(given) if use == "features" else (),
        output_format=given.outputFormat,
        connection=given.connection or CONNECTIONS[0],
        devices=given.devices,
        cluster_size=given.clusterSize,
        lmdb_partitions=given.lmdb_partitions,
        persistent=given.persistent,
        resize=given.resize,
        shapes=shapes_of(given.shapes),
        notes=tuple(notes(given, modes, use)),
    )


def check_known(given):
    """Raises ConfigError for an unknown tool, and for flags that are refused."""
    if given.tool is not None and given.tool not in TOOLS:
        cure = "; modes are flags: -train, -test, -features"
        raise ConfigError(f"a tool must be time or device_query, got {given.tool!r}{cure}")
    for flag in FLAGS:
        if flag.cure and getattr(given, flag.name) is not None:
            raise ConfigError(f"-{flag.name} is not supported; {flag.cure}")


def check_values(given):
    for name in ("devices", "clusterSize", "lmdb_partitions", "iterations"):
        value = getattr(given, name)
        if value is not None and value < 1:
            raise ConfigError(f"-{name} must be an integer >= 1, got {value}")
    check_one_of("outputFormat", given.outputFormat, FORMATS, "other formats cannot hold arrays")
    if given.connection is not None:
        check_one_of("connection", given.connection, CONNECTIONS)


def check_one_of(name, value, known, cure=""):
    if value not in known:
        end = suggestion(value, known, "") or (cure and f"; {cure}")
        raise ConfigError(f"-{name} must be one of {', '.join(known)}, got {value!r}{end}")


def check_paths(given, modes):
    """Raises ConfigError unless there is a mode and the paths that it needs."""
    if not modes:
        raise ConfigError("a mode is missing; give -train, -test or -features, or time")
    if not given.conf:
        raise ConfigError("-conf is missing; it names the solver's prototxt")
    if "train" in modes and not given.model:
        raise ConfigError("-model is missing; it says where the trained model goes")
    if not (given.model or given.weights):
        raise ConfigError("-model is missing; it names the .caffemodel that is used")


def features_of(given):
    """Returns the names in -features, followed by that of -label."""
    names = [name.strip() for name in str(given.features).split(",")]
    if not all(names):
        raise ConfigError(f"-features must be names such as fc7,prob, got {given.features!r}")
    return tuple(dict.fromkeys([*names, *([given.label] if given.label else [])]))


def shapes_of(text):
    """Parses "data:3,227,227,words:20" into {blob: shape}; {} for None."""
    shapes, shape = {}, []
    for item in text.split(",") if text is not None else ():
        blob, colon, size = item.rpartition(":")
        if colon:
            shape = shapes.setdefault(blob.strip(), [])
        if not size.strip().isdecimal() or int(size) < 1 or not shapes or "" in shapes:
            raise ConfigError(f"-shapes must be BLOB:SIZE,SIZE as data:3,227,227, got {text!r}")
        shape.append(int(size))
    return {blob: tuple(shape) for blob, shape in shapes.items()}


def notes(given, modes, use):
    """Yields notes on flags that have no effect, or a different one than expected."""
    if {"test", "features"} <= set(modes):
        other = "test" if use == "features" else "features"
        yield f"-test and -features exclude each other: the later one, -{use}, is run, not -{other}"
    if given.connection == "infiniband" and "train" in modes:
        yield (
            "-connection infiniband: sockets are used, not RDMA; set SPARKDL_INTERFACE=ib0 to "
            "run them over InfiniBand"
        )
    if "train" not in modes:
        names = ["snapshot", "persistent", "connection", *(["weights"] if given.model else [])]
        for name in names:
            if getattr(given, name):
                yield f"-{name} has no effect without -train"
    if given.label and use != "features":
        yield "-label has no effect without -features"
    if is_changed(given, "outputFormat") and use != "features" and (use or not given.output):
        yield "-outputFormat has no effect without -features, or -output of tests during training"
    for name in OF_TIME:
        if is_changed(given, name):
            yield f"-{name} has no effect without time"


def is_changed(given, name):
    """Returns whether a flag has another value than its default."""
    return getattr(given, name) != next(flag.default for flag in FLAGS if flag.name == name)
