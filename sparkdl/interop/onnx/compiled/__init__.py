"""Bodies of ONNX files as programs of the engine."""
