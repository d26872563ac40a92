"""Networks read from torch's modules beside these."""

import numpy as np

from sparkdl.interop.torch import read_module
from tests.interop.torch.aten.modules import functional


def check_like_torch(run, examples, others, **parts):
    """Reads a module for its examples, and compares it with torch for other inputs."""
    import torch

    module = functional(parts, run)
    net = read_module(module, examples)
    with torch.no_grad():
        theirs = module.eval()(*others).numpy()
    [ours] = net.run(*(one.numpy().astype(np.float32) for one in others))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def vectors():
    """Returns an embedding of 10 ids."""
    from torch import manual_seed, nn

    manual_seed(0)
    return nn.Embedding(10, 4)
