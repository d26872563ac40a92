"""Actions of a worker with a sharded state between the calls of a program, and their order."""

from itertools import pairwise

AFTER, BEFORE = 0, 1  # sort key: actions after a call precede those that prepare the next one


def step_plan(grads, params=None):
    """Returns {step: [(action, bucket)]} to run after each step; step -1 is before the first.

    "open" allocates a bucket of the gradient before the first step that touches it; "reduce" sums
    it over workers after the last one, in the order of buckets. "gather" starts to fetch a bucket
    of parameters, "await" waits for it before the first of the steps that need it, and "free"
    releases it after the last of these. A bucket stays from one step that reads it to the next
    unless a step between them reads another bucket; one is fetched while the previous one is in
    use.

    Parameters
    ----------
    grads, params : list of list of int
        The steps that touch each bucket, in order. Without params, parameters are always present.
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
    """Returns sorted [(first step, last step, bucket)]: when buckets must be present."""
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
    """Yields (step, BEFORE or AFTER, action, bucket) for each span, in order."""
    freed, earlier = {}, -1
    for first, last, bucket in spans:
        begin = earlier if freed.get(bucket, -2) <= earlier else first - 1
        yield min(begin, first - 1), BEFORE, "gather", bucket
        yield first - 1, BEFORE, "await", bucket
        yield last, AFTER, "free", bucket
        freed[bucket], earlier = last, first - 1


def exchanges(plan):
    """Returns the collective actions of a plan, in their order."""
    todo = [action for step in sorted(plan) for action in plan[step]]
    return [action for action in todo if action[0] in ("gather", "reduce")]
