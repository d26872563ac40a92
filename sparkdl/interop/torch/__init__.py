"""Modules of PyTorch as networks under every training master."""

from sparkdl.interop.torch.torch_model import TorchModel
from sparkdl.interop.torch.torch_predictor import TorchPredictor
from sparkdl.interop.torch.trained_module import trained_module
