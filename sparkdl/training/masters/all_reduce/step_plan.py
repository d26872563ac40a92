"""What a worker with a sharded state does between the calls of a program, and in what order."""

from itertools import pairwise

AFTER, BEFORE = 0, 1  # what follows a call comes before what the next one needs


def step_plan(grads, params=None):
    """Returns {step: [(action, bucket)]} to be done behind each step, -1 before the first.

    "open" gives a bucket of the gradient memory before the first step that touches it; "reduce"
    sums it over workers behind the last one, in the order of buckets. "gather" begins to fetch a
    bucket of parameters, "await" ends that before the first step of several that need it, and
    "free" follows the last of these. A bucket is needed from a step to the next one that reads it
    unless a step between them reads another; one is fetched while the one before it is in use.

    Parameters
    ----------
    grads, params : list of list of int
        The steps that touch each bucket, in order. Without params these are there at all times.
    """
    events, last = [], -1
    for bucket, steps in enumerate(grads):
        events.append((min(steps, default=last + 1) - 1, BEFORE, "open", bucket))
        last = max(last, max(steps, default=last), 0)
        events.append((last, AFTER, "reduce", bucket))
    events += gather_events(needs(params)) if params is not None else []
    plan = {}
    for step, _, action, bucket in sorted(events, key=lambda event: event[:2]):
        plan.setdefault(step, []).append((action, bucket))
    return plan


def needs(params):
    """Returns [(first step, last step, bucket)], in order: when buckets have to be there."""
    touched = sorted((step, bucket) for bucket, steps in enumerate(params) for step in steps)
    found = []
    for bucket, steps in enumerate(params):
        start = None
        for step, following in pairwise([*steps, None]):
            start = step if start is None else start
            others = following is None or any(
                step < other < following and place != bucket for other, place in touched
            )
            if others:
                found.append((start, step, bucket))
                start = None
    return sorted(found)


def gather_events(spans):
    """Yields (step, whether before or after, action, bucket) of the needs, in order."""
    freed, earlier = {}, -1
    for first, last, bucket in spans:
        begin = earlier if freed.get(bucket, -2) <= earlier else first - 1
        yield min(begin, first - 1), BEFORE, "gather", bucket
        yield first - 1, BEFORE, "await", bucket
        yield last, AFTER, "free", bucket
        freed[bucket], earlier = last, first - 1


def exchanges(plan):
    """Returns the actions of a plan in which all workers take part, in their order."""
    todo = [action for step in sorted(plan) for action in plan[step]]
    return [action for action in todo if action[0] in ("gather", "reduce")]
