"""Models trained and saved by Deeplearning4j, with its outputs; java/ has the programs."""

import json
import zipfile
from pathlib import Path

import numpy as np

from sparkdl.interop.dl4j import read_dl4j

FOLDER = Path(__file__).parent / "models"
SHAPES = {"graves": (6, 3), "windows": (2, 9, 8)}  # not given in the files
NEW = ("mlp", "lenet", "graves", "graph", "options", "windows", "sequence")
OLD = ("old_lenet", "old_graph")


def path_of(name):
    return str(FOLDER / f"{name}.zip")


def read(name, after="", **options):
    """Returns the net of a model; after="_next": after one more update."""
    return read_dl4j(path_of(name + after), shapes=SHAPES.get(name), **options)


def arrays(name):
    """Returns Deeplearning4j's inputs and outputs; sequences as (n, steps, features)."""
    with np.load(FOLDER / f"{name}.npz") as file:
        found = {key: file[key] for key in file}
    return {
        key: array.transpose(0, 2, 1) if array.ndim == 3 else array for key, array in found.items()
    }


def batch_columns(name):
    """Returns (features as `run` takes them, columns of a batch)."""
    given = arrays(name)
    if name == "graph":
        features = {"left": given["x0"], "right": given["x1"]}
        return features, features | {"first": given["y0"], "second": given["y1"]}
    features, labels = given["x"], given["y"]
    if name == "sequence":
        features = features[..., 0]
    if name == "windows":
        labels = labels[:, 0].astype(np.int32)
    return features, {"features": features, "labels": labels}


def answers(name, kind):
    """Returns Deeplearning4j's outputs: "out" of the model, "next" after one more update."""
    given = arrays(name)
    return [given[key] for key in sorted(given) if key.startswith(kind)]


def changed(tmp_path, members, name="mlp", change=None):
    """Returns the path of a copy with other members or a changed configuration."""
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path_of(name)) as old, zipfile.ZipFile(path, "w") as new:
        parts = {one: old.read(one) for one in old.namelist()}
        if change is not None:
            config = json.loads(parts["configuration.json"])
            change(config)
            parts["configuration.json"] = json.dumps(config)
        for one, content in (parts | members).items():
            if content is not None:
                new.writestr(one, content)
    return str(path)
