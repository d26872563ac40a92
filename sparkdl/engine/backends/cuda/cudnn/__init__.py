"""Convolution, normalisation and attention by cuDNN's graphs, through nvidia-cudnn-frontend."""
