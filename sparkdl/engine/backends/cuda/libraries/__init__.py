"""Adapters of cuBLASLt, cuDNN's RNN functions and NCCL."""
