"""ONNX files, read into networks, and networks written as such."""

from sparkdl.interop.onnx.onnx_predictor import OnnxPredictor
from sparkdl.interop.onnx.reader import OnnxNet, read_onnx
from sparkdl.interop.onnx.writer import write_onnx
