"""Choice of cuDNN's fastest engine for a graph, timed on the device."""

from functools import partial
from itertools import accumulate

from sparkdl.engine.backends.cuda.cudnn.plans import WORKSPACE, CudnnPlan
from sparkdl.errors import DeviceError

TRIED, TRIED_SLOW = 10, 2  # engines to time
REPEATS = 3
ALIGNMENT = 256


def tune(adapter, drawing):
    """Selects the fastest of the graph's first engines on this device.

    If timing or memory is not available, the heuristic's choice remains.
    """
    graph = drawing.graph
    clocked = trial(adapter, drawing, graph.get_workspace_size())
    run = trial(adapter, drawing, WORKSPACE) if clocked and clocked() else None
    if run is None:
        return
    tries, seconds = TRIED_SLOW if drawing.request.slow else TRIED, {}
    for index in range(graph.get_execution_plan_count()):
        try:
            graph.build_plan_at_index(index)
            seconds[index] = min(run() for _ in range(REPEATS))
        except (*adapter.refusals, ValueError, ImportError):
            continue  # deselected, refused, or in Python and lacking a package
        if len(seconds) == tries:
            break
    if seconds:
        graph.build_plan_at_index(min(seconds, key=seconds.get))
    else:
        graph.build_plans(adapter.library.build_plan_policy.HEURISTICS_CHOICE)


def trial(adapter, drawing, workspace):
    """Returns a function that times the graph in seconds on uninitialized arrays, or None."""
    specs, driver = drawing.request.arrays, adapter.driver
    sizes = {n: -(-spec.nbytes // ALIGNMENT) * ALIGNMENT for n, spec in specs.items()}
    try:
        memory = driver.allocate(workspace + sum(sizes.values()))
    except DeviceError:
        return None
    starts = accumulate(sizes.values(), initial=0)
    places = {n: memory.address + at for n, at in zip(sizes, starts, strict=False)}
    plan = CudnnPlan(drawing, adapter)
    pack, end = plan.pack(places), sum(sizes.values())
    return lambda: driver.seconds(partial(plan.run, pack, memory.address + end), adapter.clock)
