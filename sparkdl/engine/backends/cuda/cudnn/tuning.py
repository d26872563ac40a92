"""Choice of cuDNN's fastest engine for a graph, timed on the device."""

import logging
from functools import partial
from itertools import accumulate

from sparkdl.engine.backends.cuda.cudnn.plans import WORKSPACE, CudnnPlan
from sparkdl.engine.backends.cuda.device.memory_errors import lacks_memory
from sparkdl.errors import DeviceError

log = logging.getLogger(__name__)

TRIED, TRIED_SLOW = 10, 2  # engines to time
REPEATS = 3
ALIGNMENT = 256


def tune(adapter, drawing):
    """Selects the fastest of the graph's first engines on this device.

    If timing or memory is not available, the heuristic's choice remains.

    Returns
    -------
    bool : whether the engine may be kept for later processes: not if memory was lacking here

    Raises
    ------
    DeviceError
        If the graph's first run fails.
    """
    first = trial_within_memory(adapter, drawing, drawing.graph.get_workspace_size())
    if first is None:
        return False
    if not first():
        return True  # nothing is timed on this device
    del first  # frees its arrays
    run = trial_within_memory(adapter, drawing, WORKSPACE)
    return run is not None and choose_engine(adapter, drawing, run)


def trial_within_memory(adapter, drawing, workspace):
    """Returns a `trial`, or None with a warning if the device has no memory for it."""
    try:
        return trial(adapter, drawing, workspace)
    except DeviceError as error:
        label = drawing.request.label
        log.warning("cuDNN's %s may be slow: no memory to time its engines: %s", label, error)
        return None


def choose_engine(adapter, drawing, run):
    """Selects the engine with which `run` takes the least time; see `tune`."""
    graph, complete = drawing.graph, True
    tries, seconds = TRIED_SLOW if drawing.request.slow else TRIED, {}
    for index in range(graph.get_execution_plan_count()):
        try:
            graph.build_plan_at_index(index)
            seconds[index] = min(run() for _ in range(REPEATS))
        except (*adapter.refusals, ValueError, ImportError) as error:
            complete = complete and not lacks_memory(error)
            continue  # deselected, refused, or in Python and lacking a package
        if len(seconds) == tries:
            break
    if seconds:
        graph.build_plan_at_index(min(seconds, key=seconds.get))
    else:
        graph.build_plans(adapter.library.build_plan_policy.HEURISTICS_CHOICE)
    return complete


def trial(adapter, drawing, workspace):
    """Returns a function that times the graph in seconds on uninitialized arrays.

    Raises DeviceError if the device has no memory for them.
    """
    specs, driver = drawing.request.arrays, adapter.driver
    sizes = {n: -(-spec.nbytes // ALIGNMENT) * ALIGNMENT for n, spec in specs.items()}
    memory = driver.allocate(workspace + sum(sizes.values()))
    starts = accumulate(sizes.values(), initial=0)
    places = {n: memory.address + at for n, at in zip(sizes, starts, strict=False)}
    plan = CudnnPlan(drawing, adapter)
    pack, end = plan.pack(places), sum(sizes.values())
    return lambda: driver.seconds(partial(plan.run, pack, memory.address + end), adapter.clock)
