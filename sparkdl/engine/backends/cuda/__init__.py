"""NVIDIA GPUs: planned programs with kernels in our own CUDA C; see README.md."""
