"""Modules of PyTorch as networks under every training master."""

from sparkdl.interop.torch.torch_model import TorchModel
