"""cuDNN's graphs on one device: a plan per request, made once and cached on disk."""

import re
from dataclasses import replace
from functools import cached_property
from threading import RLock

from sparkdl.engine.backends.cuda.cudnn.graph_builder import Drawing
from sparkdl.engine.backends.cuda.cudnn.plans import WORKSPACE, CudnnPlan
from sparkdl.engine.backends.cuda.cudnn.tuning import tune
from sparkdl.engine.backends.cuda.device.memory_errors import lacks_memory, memory_error
from sparkdl.engine.native import cache
from sparkdl.errors import UnsupportedError

VERSIONS = (1, 20), (1, 29)  # of the frontend, [from, below); later ones need 190 MB more
REASON = re.compile(r"CUDNN_STATUS_\w+; Reason: [^\n]+")
INEXACT = "TENSOR_CORE", "DOWN_CONVERT_INPUTS"  # notes of engines that round float32 to TF32
REVISION = 2  # of graphs and engine choice: cached plans of other revisions are ignored
RANDOM = ("NONDETERMINISTIC",)  # notes of engines whose order of summation varies


def load_adapter(driver):
    """Returns the adapter of a device.

    Raises
    ------
    UnsupportedError
        If the frontend or cuDNN itself is missing; says what to install.
    MemoryError
        If cuDNN has no memory to start.
    """
    try:
        import cudnn
    except (ImportError, OSError) as error:
        raise UnsupportedError(f"pip install 'sparkdl-hadoop[gpu]' ({error})") from None
    version = tuple(int(n) for n in cudnn.__version__.split(".")[:2])
    if not VERSIONS[0] <= version < VERSIONS[1]:
        installed = cudnn.__version__
        raise UnsupportedError(f"nvidia-cudnn-frontend>=1.20,<1.29 is needed, not {installed}")
    driver.use()
    try:
        return Cudnn(cudnn, driver)
    except RuntimeError as error:
        if lacks_memory(error):
            raise memory_error("cuDNN", error) from None
        raise UnsupportedError(f"pip install nvidia-cudnn-cu13 ({error})") from None


class Cudnn:
    """cuDNN's graphs on one device, or planned for one that is not present.

    Parameters
    ----------
    library : module cudnn
    driver : Driver
    properties : str, optional
        cuDNN's description of a device, in JSON: plans are made for it, but cannot run.
    """

    def __init__(self, library, driver, properties=None):
        self.library, self.driver, self.properties = library, driver, properties
        self.lock, self.stream = RLock(), None
        self.handle = None if properties else library.create_handle()
        version = library.backend_version()  # 92800 for 9.28.0
        self.name = f"cuDNN {version // 10_000}.{version // 100 % 100}.{version % 100}"
        self.refusals = library.cudnnGraphNotSupportedError, RuntimeError, UnsupportedError
        self.plans = {}

    @cached_property
    def clock(self):
        """The stream for timing plans; kept, since the handle continues to refer to it."""
        return self.driver.stream()

    def plan(self, request, tf32=False):
        """Returns the CudnnPlan of a Request.

        With `tf32`, factors of float32 products may be rounded.

        Raises
        ------
        UnsupportedError
            If cuDNN has no plan for it, with its first reason.
        MemoryError
            If cuDNN has no memory to make the plan.
        """
        with self.lock:
            if (request, tf32) not in self.plans:
                self.plans[request, tf32] = self._make_plan(request, tf32)
            plan = self.plans[request, tf32]
        if isinstance(plan, str):
            raise UnsupportedError(plan)
        return plan

    def _make_plan(self, request, tf32):
        """Returns a plan, from disk or new, or the reason why there is none."""
        key = self._key(request, tf32)
        cached = None if self.properties else self._load_plan(key, request)
        if cached is not None:
            return cached
        drawing = self._drawing(request)
        try:
            tuned = self._make(drawing, tf32)
        except self.refusals as error:
            if lacks_memory(error):
                raise memory_error(f"cuDNN's {request.label}", reason(error)) from None
            return reason(error)
        if tuned:
            self._keep(key, drawing.graph)
        return CudnnPlan(drawing, self)

    def _keep(self, key, graph):
        """Writes a plan to disk for later processes; plans of some engines cannot be serialized."""
        try:
            content = bytes(graph.serialize())
        except self.refusals:
            return
        cache.write(key, content)

    def _load_plan(self, key, request):
        """Returns the plan cached on disk; None if there is none or cuDNN no longer accepts it."""
        cached = cache.read(key)
        if cached is None:
            return None
        drawing = self._drawing(request)
        try:
            drawing.graph.deserialize(self.handle, list(cached))
        except self.refusals:
            return None
        return CudnnPlan(drawing, self)

    def follow(self, stream):
        """Directs what runs next to a stream; telling cuDNN takes some microseconds."""
        if stream != self.stream:
            self.library.set_stream(handle=self.handle, stream=stream)
            self.stream = stream

    def _key(self, request, tf32):
        kind = replace(self.driver.properties, id="")  # a plan is valid for all devices of a kind
        versions = self.library.__version__, self.library.backend_version(), tf32, REVISION
        return cache.key_of("cudnn", str(kind), *map(str, versions), repr(request))

    def _drawing(self, request):
        place = {"handle": self.handle}
        if self.properties:
            device = self.library.create_device_properties(self.properties)
            major, minor = self.driver.properties.capability
            place = {"device_property": device, "sm_version": 10 * major + minor}
        wide = self.library.data_type.FLOAT
        types = {"intermediate_data_type": wide, "compute_data_type": wide}
        return Drawing(self.library, self.library.pygraph(**types, **place), request)

    def _make(self, drawing, tf32):
        """Builds the graph; returns whether its engine is the best for later processes, too."""
        graph, modes, notes = drawing.graph, self.library.heur_mode, self.library.numerical_note
        drawing.request.draw(drawing)
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([modes.A, modes.FALLBACK])
        exact = drawing.request.kind == "float32" and not tf32
        unwanted = RANDOM + INEXACT * exact
        graph.deselect_numeric_notes([getattr(notes, name) for name in unwanted])
        graph.deselect_workspace_greater_than(WORKSPACE)
        graph.check_support()
        graph.build_plans(self.library.build_plan_policy.HEURISTICS_CHOICE)
        return not self.properties and tune(self, drawing)


def reason(error):
    """Returns the first reason in a message of cuDNN's, in a line."""
    text = str(error)
    match = REASON.search(text)
    return " ".join((match[0] if match else text).split())[:200]
