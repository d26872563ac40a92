"""The order in which a stage takes microbatches forward and back."""

FORWARD, BACKWARD = "forward", "backward"


def one_forward_one_backward(stage, stages, count):
    """Yields (FORWARD or BACKWARD, number of a microbatch).

    A stage begins with as many as there are stages behind it, then takes one forward and one back
    in turn, so at most `stages - stage` microbatches are in it at a time.

    References
    ----------
    Narayanan et al., PipeDream: generalized pipeline parallelism for DNN training (2019); with the
    flush behind each update of Huang et al., GPipe (2019).
    """
    ahead = min(stages - 1 - stage, count)
    for number in range(ahead):
        yield FORWARD, number
    for number in range(count):
        if number + ahead < count:
            yield FORWARD, number + ahead
        yield BACKWARD, number
