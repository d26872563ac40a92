"""Networks as predictors."""

from typing import Any

import numpy as np

from sparkdl.data import Batch
from sparkdl.data.batches.columns import Violation
from sparkdl.errors import ConfigError, DataError
from sparkdl.interop.predictors.predictor import ArraySpec, Predictor
from sparkdl.nn.execution.device import choose_backend
from sparkdl.nn.execution.replica import make_replica
from sparkdl.training.evaluation.batch_evaluation import pieces
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.network import Network
from sparkdl.training.rounds.replica import load_to_read
from sparkdl.training.saving.stored_tables import keep_files


class NetworkPredictor(Predictor):
    """A sparkdl network, computed on the CPU.

    The transform of its fit (`Network.transform`) is applied: rows are as `SparkNetwork.fit` took
    them.

    Parameters
    ----------
    network : Network
    layers : {output: layer}, optional
        None: the output layers, under their names.
    input : str, optional
        Name of a single input, instead of "features".
    pads : bool
        Whether sequences may have fewer steps than the network: they are padded with zeros, and
        masked. False for a network read from a file, which takes only its own lengths.
    """

    def __init__(
        self,
        network: Network,
        layers: dict[str, str] | None = None,
        input: str | None = None,
        pads: bool = True,
    ) -> None:
        self.conf, self.state = network.conf, network.state.without_slots()
        keep_files(self.state.tables)
        self.transform = network.transform
        self.layers = output_layers(self.conf) if layers is None else dict(layers)
        schema = schema_of(self.conf, labels=False, transform=self.transform)
        single = input is not None and len(schema.inputs) == 1
        self.columns = {input if single else column: column for column in schema.inputs}
        self.inputs = {name: spec_of(schema, column, pads) for name, column in self.columns.items()}
        shapes = {place.name: place.out_shape for place in self.conf.stack}
        if unknown := [layer for layer in self.layers.values() if layer not in shapes]:
            raise ConfigError(
                f"NetworkPredictor.layers must be some of {[*shapes]}, got {', '.join(unknown)}"
            )
        self.outputs = {
            name: ArraySpec("float32", shapes[layer]) for name, layer in self.layers.items()
        }

    def load(self, outputs: list[str]) -> Any:
        conf, layers = self.conf, [self.layers[name] for name in outputs]
        schema = schema_of(conf, labels=False, transform=self.transform)
        replica = make_replica(conf, choose_backend("cpu"))  # not the shared one, which is reloaded
        load_to_read(replica, self.state)

        def predict(arrays):
            n = len(next(iter(arrays.values())))
            columns = {column: arrays[name] for name, column in self.columns.items()}
            ids = np.arange(n, dtype=np.uint64)
            batch = Batch(columns=self._convert(schema, columns, n), ids=ids)
            parts = pieces(batch, self.transform, conf)
            results = [replica.forward(part, list(dict.fromkeys(layers))) for part in parts]
            found = {name: np.concatenate([part[name] for part in results]) for name in layers}
            return {name: found[layer] for name, layer in zip(outputs, layers, strict=True)}

        return predict

    def _convert(self, schema, columns, n):
        """Returns {column: array} as the network expects; DataError for the first wrong row."""
        try:
            return schema.convert(columns, next(iter(self.columns)))
        except Violation as offence:
            where = f"row {offence.row}: " if n > 1 else ""
            raise DataError(f"{where}{offence}") from None


def output_layers(conf):
    """Returns {name: name} of the layers that give predictions."""
    if conf.outputs:
        return {place.name: place.name for place in conf.outputs}
    raise ConfigError(
        "NetworkPredictor.layers must name layers of a network that has no output layer, got None"
    )


def spec_of(schema, column, pads):
    """Returns the ArraySpec of an input; with `pads`, sequences may have fewer steps."""
    shape = tuple(schema.inputs[column])
    shape = (None, *shape[1:]) if pads and column in schema.masks else shape
    return ArraySpec("int64" if column in schema.longs else "float32", shape)
