"""The 1F1B schedule: its dependencies, and the number of microbatches in each stage."""

import pytest

from sparkdl.training.masters.pipeline_parallel.schedule import (
    BACKWARD,
    FORWARD,
    one_forward_one_backward,
)


@pytest.mark.parametrize("count", [0, 1, 3, 8])
@pytest.mark.parametrize("stages", [1, 2, 5])
def test_stages_in_turn_never_wait_for_each_other_for_ever(stages, count):
    """Each stage takes its next step as soon as its neighbors have done what that needs."""
    left = [list(one_forward_one_backward(stage, stages, count)) for stage in range(stages)]
    done = {(FORWARD, -1, n) for n in range(count)} | {(BACKWARD, stages, n) for n in range(count)}
    most = [0] * stages
    while any(left):
        ready = [
            (stage, way, number)
            for stage, rest in enumerate(left)
            if rest
            for way, number in rest[:1]
            if (way, stage - 1 if way is FORWARD else stage + 1, number) in done
        ]
        assert ready, "all wait"
        for stage, way, number in ready:
            left[stage].pop(0)
            assert way is FORWARD or (FORWARD, stage, number) in done
            done.add((way, stage, number))
            inside = {n for w, s, n in done if s == stage and w is FORWARD}
            inside -= {n for w, s, n in done if s == stage and w is BACKWARD}
            most[stage] = max(most[stage], len(inside))
    assert len(done) == 2 * count * (stages + 1)
    assert most == [min(stages - stage, count) for stage in range(stages)]
