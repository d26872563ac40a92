"""Networks as MLflow models: the sparkdl flavor, and python_function for MLflow's tools."""

import sys
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sparkdl.errors import DataError
from sparkdl.interop.mlflow.package import load_package
from sparkdl.training.network import Network
from sparkdl.training.report.environment import version_of

FLAVOR, FOLDER, LOADER = "sparkdl", "network", "sparkdl.mlflow"
PACKAGE = "sparkdl-hadoop"


def log_model(
    network: Network,
    name: str = "model",
    run_id: str | None = None,
    registered_model_name: str | None = None,
) -> Any:
    """Logs a network as an MLflow model of a run; `mlflow.pyfunc` loads it, also as a Spark UDF.

    Parameters
    ----------
    network : Network
    name : str
    run_id : str, optional
        None: the active run, or a new one.
    registered_model_name : str, optional
        Registers a version under this name.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its `model_uri` is what load_model takes.
    """
    mlflow = load_package()
    names = {"name": name, "registered_model_name": registered_model_name}
    about = {"flavor": sys.modules[__name__], "flavor_name": FLAVOR, "run_id": run_id}
    return mlflow.models.Model.log(None, network=network, **names, **about)


def save_model(network: Network, path: str | PathLike[str], mlflow_model: Any = None) -> None:
    """Writes a network as an MLflow model into a local folder.

    Parameters
    ----------
    network : Network
    path : path
        The folder, which must not exist yet.
    mlflow_model : mlflow.models.Model, optional
        What else is known of the model, as MLflow's own functions hand it on.
    """
    mlflow = load_package()
    from mlflow import pyfunc

    model = mlflow.models.Model() if mlflow_model is None else mlflow_model
    model.signature = signature_of(network.conf)  # otherwise MLflow asks for examples
    model.add_flavor(FLAVOR, sparkdl_version=version_of(PACKAGE), data=f"data/{FOLDER}")
    with tempfile.TemporaryDirectory() as folder:
        network.save(Path(folder, FOLDER))
        pyfunc.save_model(
            str(path),
            loader_module=LOADER,
            data_path=str(Path(folder, FOLDER)),
            mlflow_model=model,
            pip_requirements=[f"{PACKAGE}=={version_of(PACKAGE)}"],
        )


def load_model(model_uri: str, device: str = "auto") -> Network:
    """Returns the Network of an MLflow model, to predict or to train on.

    Parameters
    ----------
    model_uri : str
        "models:/name/1", "runs:/RUN_ID/model" or a path.
    device : str
        That of Network.
    """
    mlflow = load_package()
    folder = mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri))
    flavors = mlflow.models.Model.load(folder).flavors
    if FLAVOR not in flavors:
        raise DataError(f"{model_uri} must be a model of sparkdl, got one of {sorted(flavors)}")
    return Network.load(Path(folder, flavors[FLAVOR]["data"]), device)


def signature_of(conf: Any) -> Any:
    """Returns the signature of a network: its inputs and output for any number of examples.

    A single input has no name, so that it can be an array. A network with bags has no signature, as
    MLflow cannot describe lists of different lengths.
    """
    from mlflow.models import ModelSignature
    from mlflow.types import Schema

    if getattr(conf, "bags", ()):
        return None
    shapes, is_only = conf.input_shapes, len(conf.input_shapes) == 1
    inputs = [
        tensor(shapes[name], None if is_only else name, column in conf.integer_columns)
        for column, name in conf.feature_columns.items()
    ]
    shape_of = {place.name: place.out_shape for place in conf.stack}
    return ModelSignature(Schema(inputs), Schema([tensor(shape_of[conf.output.name])]))


def tensor(shape: tuple[int | None, ...], name: str | None = None, is_integer: bool = False) -> Any:
    from mlflow.types import TensorSpec

    sizes = (-1, *(-1 if size is None else size for size in shape))
    return TensorSpec(np.dtype(np.int64 if is_integer else np.float32), sizes, name)


def _load_pyfunc(path: str) -> "_Predictor":
    """Returns the model for mlflow.pyfunc; MLflow calls it on executors, too."""
    return _Predictor(Network.load(path))


class _Predictor:
    """A network with the interface of mlflow.pyfunc."""

    def __init__(self, network: Network) -> None:
        self.network = network

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> np.ndarray:
        """Returns the output (n, ...) for arrays, whose shapes MLflow has checked."""
        return self.network.predict(model_input)
