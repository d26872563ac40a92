"""Caffe's and CaffeOnSpark's files: nets, solvers, weights."""
