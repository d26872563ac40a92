"""Convolution, normalization and attention by cuDNN's graphs, through nvidia-cudnn-frontend."""
