"""What each operation of ONNX makes of arrays."""
