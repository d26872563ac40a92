"""PyTorch modules as networks for every training master, and PyTorch weights in networks."""

from sparkdl.interop.torch.aten.reader import ModuleNet, read_module
from sparkdl.interop.torch.torch_model import TorchModel
from sparkdl.interop.torch.torch_predictor import TorchPredictor
from sparkdl.interop.torch.trained_module import trained_module
from sparkdl.interop.torch.transformers.reader import TransformerNet, read_transformer
from sparkdl.interop.torch.weights.reader import TorchNet, read_torch
