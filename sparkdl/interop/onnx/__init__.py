"""ONNX files, read into networks or computed as they are, and networks written as ONNX."""

from sparkdl.errors import needs_package

with needs_package("sparkdl.interop.onnx", "onnx", "pip install 'sparkdl-hadoop[onnx]'"):
    import onnx

from sparkdl.interop.onnx.function_predictor import OnnxFunctionPredictor
from sparkdl.interop.onnx.onnx_function import OnnxFunction
from sparkdl.interop.onnx.onnx_predictor import OnnxPredictor
from sparkdl.interop.onnx.reader import OnnxNet, read_onnx
from sparkdl.interop.onnx.writer import write_onnx
