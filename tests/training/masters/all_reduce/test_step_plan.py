"""Actions between the steps of a program match plans made by hand."""

from sparkdl.training.masters.all_reduce.step_plan import exchanges, step_plan

# Three layers; bucket 0 is the last layer. Steps 0-2 go forward, 3-5 back, each with a gradient.
GRADS = [[3], [4], [5]]
PARAMS = [[2, 3], [1, 4], [0]]


def test_a_gradient_has_memory_from_its_first_step_to_its_last():
    assert step_plan(GRADS) == {
        2: [("open", 0)],
        3: [("reduce", 0), ("open", 1)],
        4: [("reduce", 1), ("open", 2)],
        5: [("reduce", 2)],
    }


def test_sums_begin_in_the_order_of_buckets():
    plan = step_plan([[3, 6], [4], [5]])
    assert exchanges(plan) == [("reduce", 0), ("reduce", 1), ("reduce", 2)]
    assert plan[6] == [("reduce", 0), ("reduce", 1), ("reduce", 2)]


def test_parameters_come_before_their_turn_and_go_before_that_of_others():
    plan = step_plan(GRADS, PARAMS)
    without_grads = {
        step: [action for action in todo if action[0] not in ("open", "reduce")]
        for step, todo in plan.items()
    }
    assert {step: todo for step, todo in without_grads.items() if todo} == {
        -1: [("gather", 2), ("await", 2), ("gather", 1)],
        0: [("free", 2), ("await", 1), ("gather", 0)],
        1: [("free", 1), ("await", 0), ("gather", 1)],
        3: [("free", 0), ("await", 1)],
        4: [("free", 1)],
    }


def test_a_bucket_is_not_fetched_while_it_is_there():
    plan = step_plan([[9], [9]], [[0, 1, 2, 3, 5], [1, 4]])
    here = set()
    for step in sorted(plan):
        for action, bucket in plan[step]:
            if action == "gather":
                assert bucket not in here
                here.add(bucket)
            elif action == "free":
                here.remove(bucket)
    assert not here
    assert [b for action, b in exchanges(plan) if action == "gather"] == [0, 1, 1, 0]


def test_a_bucket_that_nothing_touches_is_summed_in_its_turn():
    assert exchanges(step_plan([[2], [], [3]])) == [("reduce", 0), ("reduce", 1), ("reduce", 2)]
