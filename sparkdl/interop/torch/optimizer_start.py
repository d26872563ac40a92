"""Makes torch load what its first optimizer needs, which takes as long as torch itself.

A process that has imported this is forked for workers.
"""

import torch

torch.optim.SGD([torch.zeros(1, requires_grad=True)])
