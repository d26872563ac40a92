"""The order in which a stage runs forward and backward passes of microbatches."""

FORWARD, BACKWARD = "forward", "backward"


def one_forward_one_backward(stage, stages, count):
    """Yields (FORWARD or BACKWARD, number of a microbatch).

    A stage begins with one forward pass for each stage after it, then alternates one forward with
    one backward pass, so that it holds at most `stages - stage` microbatches at a time.

    References
    ----------
    Narayanan et al., PipeDream: generalized pipeline parallelism for DNN training (2019); with the
    flush after each update of Huang et al., GPipe (2019).
    """
    ahead = min(stages - 1 - stage, count)
    for number in range(ahead):
        yield FORWARD, number
    for number in range(count):
        if number + ahead < count:
            yield FORWARD, number + ahead
        yield BACKWARD, number
