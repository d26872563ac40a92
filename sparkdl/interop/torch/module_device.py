"""The device that a module computes on: the CPU, or the GPU of its replica's backend."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

from sparkdl.errors import ConfigError
from sparkdl.interop.torch.module_arrays import load_torch
from sparkdl.nn.layout import Layout

PRECISION = "fp32_precision"  # replaces `allow_tf32` in torch 2.9


def device_of(lent: Any, tf32: bool) -> Any:
    """Returns a Processor if the backend lends None, else its Gpu."""
    return Processor() if lent is None else Gpu(lent, tf32)


class Processor:
    """The CPU. Vectors are numpy arrays, shared with torch's tensors."""

    name, is_gpu = "cpu", False
    numbers: tuple[int, ...] = ()  # GPUs whose random state torch must restore

    def tensor(self, name: str, vector: Any) -> Any:
        """Returns the tensor of a vector, which shares its memory."""
        return load_torch().from_numpy(vector.open())

    @contextmanager
    def computing(self, *written: str) -> Iterator[None]:
        """Lets torch compute in this context; `written` are the vectors that it writes."""
        yield

    def mark(self) -> Any:
        """Returns a mark after the work that torch has queued; see Replica.gradient."""
        return None


class Gpu:
    """A GPU; see Processor.

    Vectors are in its memory; torch queues its work on the stream of the backend's programs.

    Parameters
    ----------
    lent : sparkdl.engine.backends.lent.Lent
    tf32 : bool
        Whether operands of matrix products and convolutions may be rounded; see Conf.tf32.

    Raises
    ------
    ConfigError
        If torch is built without CUDA, or finds no GPU.
    """

    is_gpu = True

    def __init__(self, lent: Any, tf32: bool) -> None:
        torch = load_torch()
        if not torch.cuda.is_available():
            cuda = torch.version.cuda
            built = f"was built for CUDA {cuda}" if cuda else "was built without CUDA"
            raise ConfigError(
                'TrainingMaster.device must be "cpu" for a TorchModel where torch computes on no '
                f"GPU, got a GPU; torch {torch.__version__} {built} and finds none: install one "
                "for the CUDA of this machine"
            )
        self._lent, self._tf32 = lent, tf32
        self.name, self.numbers = f"cuda:{lent.number}", (lent.number,)

    def tensor(self, name: str, vector: Any) -> Any:
        memory, torch = self._lent.memory(name), load_torch()
        if not memory.size:
            return torch.empty(0, device=self.name)
        return torch.as_tensor(cuda_array(memory), device=self.name)

    @contextmanager
    def computing(self, *written: str) -> Iterator[None]:
        torch = load_torch()
        with self._lent.computing(*written) as address, rounding(self._tf32):
            with torch.cuda.stream(torch.cuda.ExternalStream(address, device=self.name)):
                yield

    def mark(self) -> Any:
        return self._lent.mark()


def cuda_array(memory: Any) -> Any:
    """Returns float32 device memory under CUDA's array interface, version 3."""
    interface = {
        "shape": (memory.size,),
        "typestr": "<f4",
        "data": (memory.address, False),
        "version": 3,
    }
    return SimpleNamespace(__cuda_array_interface__=interface, memory=memory)


@contextmanager
def rounding(tf32: bool) -> Iterator[None]:
    """Allows or forbids TF32 in this context, and makes cuDNN deterministic."""
    matmul, cudnn = load_torch().backends.cuda.matmul, load_torch().backends.cudnn
    parts = matmul, getattr(cudnn, "conv", None), getattr(cudnn, "rnn", None)
    wanted = [
        *((place, "allow_tf32", tf32) for place in (matmul, cudnn)),
        (cudnn, "deterministic", True),
        (cudnn, "benchmark", False),
        *((p, PRECISION, "tf32" if tf32 else "ieee") for p in parts if hasattr(p, PRECISION)),
    ]
    before = []
    for place, name, _ in wanted:
        with suppress(RuntimeError):  # reading `allow_tf32` after PRECISION was set
            before.append((place, name, getattr(place, name)))
    try:
        set_all(wanted)
        yield
    finally:
        set_all(before)


def set_all(values: list[tuple[Any, str, Any]]) -> None:
    for place, name, value in values:
        setattr(place, name, value)


def tensors_of(layout: Layout, flat: Any) -> dict[str, Any]:
    """Returns {name: tensor} of a layout's arrays, views of a flat tensor."""
    shapes = dict(layout.entries)
    return {name: flat[part].view(shapes[name]) for name, part in layout.slices.items()}
