"""Truncated backpropagation through time: sequences in chunks, with state carried between them.

References
----------
Williams and Peng, An efficient gradient-based algorithm for on-line training of recurrent network
trajectories (1990). DL4J tBPTTLength.
"""

from dataclasses import replace

import numpy as np

from sparkdl.errors import ConfigError, require
from sparkdl.nn.inputs.columns import label_mask_of, mask_of, sequences_of

CHUNK_BITS = 58  # of an id, as for copies in forward.py: each chunk gets other random numbers


def check_tbptt(conf):
    """Checks that the network supports the option tbptt.

    Raises
    ------
    ConfigError
        Unless all inputs and outputs are sequences of one length, and steps depend on each other
        through a carried state only.
    """
    if conf.tbptt is None:
        return
    sound = conf.tbptt[1] <= conf.tbptt[0]
    expected = "(forward, backward), numbers of steps with 1 <= backward <= forward"
    require(conf, "tbptt", sound, expected)
    shapes = [*conf.input_shapes.values(), *(place.out_shape for place in conf.outputs)]
    if any(len(shape) != 2 for shape in shapes):
        raise ConfigError(
            f"tbptt needs sequences (steps, features) as inputs and outputs, got {shapes}"
        )
    if len({steps for steps, _ in shapes}) > 1:
        raise ConfigError(f"tbptt needs inputs and outputs of as many steps, got {shapes}")
    check_carries(conf)
    check_losses(conf)


def check_carries(conf):
    """Raises ConfigError unless steps depend on earlier ones through a carried state only.

    Consecutive chunks then compute the same as the whole sequence.
    """
    for place in conf.stack:
        if place.layer.reads_backward:
            raise ConfigError(
                f"{place.name} reads sequences from their end: no state can be carried"
            )
        if place.layer.mixes_steps(place.in_shape):
            raise ConfigError(
                f"{place.name} sees more than one step of a sequence: no state of it can be carried"
            )
    if not conf.state_shapes:
        raise ConfigError("the network has no recurrent layer: there is no state to carry")
    check_summaries(conf)


def check_summaries(conf):
    """Raises ConfigError if the summary of a sequence feeds back into its steps.

    In the whole sequence, the first steps would see a summary that includes the last step; in a
    chunk they cannot.
    """
    summaries, lists = set(), set()  # summaries of sequences; lists of all their steps
    for place in conf.stack:
        several = place.layer.multi_input
        shapes = place.in_shape if several else (place.in_shape,)
        found = summaries.intersection(place.sources)
        listed = lists.intersection(place.sources)
        reads_steps = any(len(shape) == 2 for shape in shapes)
        if place.layer.lists_steps(place.in_shape) and (listed or reads_steps) and not found:
            lists.update([place.name] * (len(place.out_shape) == 1))
            continue
        found |= listed
        if found and len(place.out_shape) == 2 and not place.layer.reads_ids_of_steps:
            raise ConfigError(
                f"{place.name} feeds {min(found)}, which summarizes a whole sequence, back to its "
                "steps: no state of it can be carried"
            )
        if len(place.out_shape) == 1 and (found or reads_steps):
            summaries.add(place.name)


def check_losses(conf):
    """Raises ConfigError for a loss with labels per sequence instead of per step."""
    for place in conf.outputs:
        loss = getattr(place.layer, "loss", None)
        if getattr(loss, "of_sequence", False):
            raise ConfigError(
                f"tbptt cuts labels where it cuts sequences: {place.name} must have a loss with a "
                f"label for each step, got {type(loss).__name__}"
            )


def chunks(conf, batch):
    """Yields the parts of a batch to update after: (Batch, share of the steps, initial states).

    Without tbptt that is the batch itself, with tbptt its chunks, of which the last may be shorter.
    """
    if conf.tbptt is None:
        yield batch, 1, None
        return
    columns = sequences_of(conf)
    columns |= {mask_of(c) for c in conf.feature_columns} | set(map(label_mask_of, columns))
    sequences = {name: batch.columns[name] for name in columns if name in batch.columns}
    steps = max(column.shape[1] for column in sequences.values())
    states = {}
    for number, start in enumerate(range(0, steps, conf.tbptt[0])):
        part = {n: column[:, start : start + conf.tbptt[0]] for n, column in sequences.items()}
        ids = batch.ids + np.uint64(number % 64 << CHUNK_BITS)
        share = (min(start + conf.tbptt[0], steps) - start) / steps
        yield replace(batch, columns=batch.columns | part, ids=ids), share, states
