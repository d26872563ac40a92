"""ONNX graphs as programs of the engine."""
