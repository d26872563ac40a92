"""NVIDIA GPUs: planned programs whose kernels are our own CUDA C; README.md says how it works."""
