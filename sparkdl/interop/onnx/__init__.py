"""ONNX files, read into networks."""

from sparkdl.interop.onnx.reader import OnnxNet, read_onnx
