"""The cost model's description of a network whose layers are split."""

from math import prod

from sparkdl.exchange.cost_model.tensor import TensorModel
from sparkdl.nn.execution.cost_estimates import estimate_layer_seconds, pass_seconds
from sparkdl.nn.execution.split_network import Member, SplitNetwork
from sparkdl.nn.inputs.columns import nominal_shapes
from sparkdl.nn.networks.layer_splits import Split, layer_splits
from sparkdl.training.masters.pipeline_parallel.cuts import EXAMPLES, traced

SUMMED = Split.ROWS, Split.HEADS  # splits whose outputs are summed in the forward pass
COPIED = {*Split} - {Split.INSIDE, Split.ROWS}  # splits whose input gradients are summed
CLASSES = 1, 3  # numbers per example in each sum of a softmax and its cross entropy


def tensor_models(conf, workers, batch_size):
    """Returns the TensorModels of all degrees above 1 that divide the workers and some layer."""
    degrees = [degree for degree in range(2, workers + 1) if workers % degree == 0]
    return [tensor_model(conf, d, batch_size) for d in degrees if layer_splits(conf, d)]


def tensor_model(conf, degree, batch_size):
    """Returns the TensorModel of a network split over `degree` workers."""
    (values, _), splits = traced(conf), layer_splits(conf, degree)
    seconds = estimate_layer_seconds(conf, values, EXAMPLES)
    divided = sum(s for s, place in zip(seconds, conf.stack, strict=True) if place.name in splits)
    gathered = [name for name, split in splits.items() if split is Split.GATHERED]
    size = conf.params_layout.size
    return TensorModel(
        degree=degree,
        divided=float(divided / seconds.sum()),
        summed=tuple(batch_size * n for n in summed_bytes(conf, values, splits)),
        gathered=tuple(batch_size * example_bytes(values, name) for name in gathered),
        inputs=4.0 * batch_size * sum(prod(s[1:]) for _, s in nominal_shapes(conf, 1)),
        nbytes=4.0 * size,
        kept=SplitNetwork(conf, Member(0, degree)).params_layout.size / max(1, size),
        least=pass_seconds(4.0 * size),
    )


def summed_bytes(conf, values, splits):
    """Yields the bytes per example of each sum, forward and backward."""
    trained = trained_values(conf)
    for place in conf.stack:
        split = splits.get(place.name)
        if split in SUMMED:
            yield example_bytes(values, place.name)
        if split is Split.CLASSES:
            steps = values[place.name].spec.size // values[place.name].shape[-1] // EXAMPLES
            yield from (4.0 * steps * numbers for numbers in CLASSES)
        if split in COPIED:
            yield from (example_bytes(values, n) for n in set(place.sources) if n in trained)


def trained_values(conf):
    """Returns the names of layers that gradients flow back to: with parameters, or after such."""
    found = set()
    for place in conf.stack:
        shared = place.owner != place.name
        if place.param_shapes or shared or not found.isdisjoint(place.sources):
            found.add(place.name)
    return found


def example_bytes(values, name):
    return values[name].spec.nbytes / EXAMPLES
