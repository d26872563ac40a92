"""ONNX operations as functions of arrays."""
