"""Adapters of NVIDIA's libraries, and the reasons why any are missing.

A lowering looks up `session.libraries.products` (or graphs, recurrent). If that is None, it uses
our own kernel; if the adapter raises UnsupportedError, too, with the reason as the kernel's note.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sparkdl.engine.backends.cuda.cudnn import adapter as cudnn
from sparkdl.engine.backends.cuda.libraries import cublaslt, cudnn_rnn, nccl
from sparkdl.errors import UnsupportedError

PLACES = "products", "graphs", "recurrent", "exchange"
FINDERS = {  # {field of Libraries: (library's name, function driver -> adapter)}
    "products": ("cuBLASLt", cublaslt.load_adapter),
    "graphs": ("cuDNN", cudnn.load_adapter),
    "recurrent": ("cuDNN's RNN", cudnn_rnn.load_adapter),
    "exchange": ("NCCL", nccl.load_nccl),
}


@dataclass(frozen=True, kw_only=True)
class Libraries:
    """Adapters, each with a `name` that states the library and its version.

    Parameters
    ----------
    products : matrix products
    graphs : convolution, normalization and attention
    recurrent : recurrent layers
    exchange : communication with devices of other processes
    missing : {library's name: the reason}
    """

    products: Any = None
    graphs: Any = None
    recurrent: Any = None
    exchange: Any = None
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def note(self):
        """One line per library that is used or missing."""
        used = [a for name in PLACES if (a := getattr(self, name)) is not None]
        lines = [f"with {adapter.name}" for adapter in used]
        return "\n".join(lines + [f"without {n}: {why}" for n, why in self.missing.items()])


def load_libraries(driver, finders=None):
    """Returns the Libraries of a device.

    Libraries that cannot be loaded are missing, with the loader's message.
    """
    adapters, missing = {}, {}
    for place, (name, find) in (FINDERS if finders is None else finders).items():
        try:
            adapters[place] = find(driver)
        except UnsupportedError as error:
            missing[name] = str(error)
    return Libraries(**adapters, missing=missing)
