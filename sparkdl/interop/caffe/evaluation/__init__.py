"""Evaluation as in Caffe: blobs, scores, means of test nets."""
