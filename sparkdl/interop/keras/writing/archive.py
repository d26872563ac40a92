"""Contents of a .keras archive: the model's config, and its weights as an HDF5 file."""

import json
import zipfile
from io import BytesIO

import numpy as np

from sparkdl.errors import UnsupportedError
from sparkdl.interop.hdf5 import create_hdf5
from sparkdl.interop.keras.optimizers import SLOTS
from sparkdl.nn.schedules import Schedule

VERSION = "3.0.0"
MOST_UPDATES = 2**31 - 1  # Keras counts them in int32


def archive(config, weights):
    """Returns the contents of a .keras file."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("metadata.json", json.dumps({"keras_version": VERSION}))
        file.writestr("config.json", json.dumps(config))
        file.writestr("model.weights.h5", weights)
    return buffer.getvalue()


def weights_file(network, taken, owners, compiled):
    """Returns the contents of the HDF5 file with a network's arrays.

    Parameters
    ----------
    network : Network
    taken : list of Taken
    owners : {Keras layer: sparkdl layer}
    compiled : bool
        Whether to include the optimizer state.
    """
    conf, state = network.conf, network.state
    arrays = conf.params_layout.views(state.params) | conf.buffers_layout.views(state.buffers)
    with create_hdf5() as (content, file):
        for one in taken:
            place = "/".join([*one.path, *filter(None, [one.take.path]), "vars"])
            add(file, place, one.take.back(arrays[f"{owners[one.vertex]}/{one.ours}"]))
        names = SLOTS.get(type(conf.optimizer))
        if compiled and names is not None and not any(one.take.state_change for one in taken):
            add_optimizer(file, network, taken, owners, names)
    return content.getvalue()


def add(file, place, array):
    group = file.require_group(place)
    group.create_dataset(str(len(group)), data=array)


def add_optimizer(file, network, taken, owners, names):
    """Adds the number of updates, the rate if it is a number, and the state of each array."""
    conf, state = network.conf, network.state
    if state.iteration > MOST_UPDATES:
        raise UnsupportedError(
            f"a network must have at most {MOST_UPDATES} updates for Keras to go on with its "
            f"optimizer, got {state.iteration}; compiled=False leaves the optimizer out"
        )
    vectors = conf.slots_layout.views(state.slots)
    slots = [conf.params_layout.views(vectors[name]) for name in names]
    add(file, "optimizer/vars", np.int32(state.iteration))
    if not isinstance(conf.optimizer.learning_rate, Schedule):
        add(file, "optimizer/vars", np.float32(conf.optimizer.learning_rate))
    for one in sorted((one for one in taken if one.trained), key=lambda one: one.rank):
        for views in slots:
            array = views[f"{owners[one.vertex]}/{one.ours}"]
            add(file, "optimizer/vars", one.take.back(array))
