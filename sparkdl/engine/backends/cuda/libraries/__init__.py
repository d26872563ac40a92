"""Adapters of cuBLASLt, of cuDNN's RNN functions and of NCCL."""
