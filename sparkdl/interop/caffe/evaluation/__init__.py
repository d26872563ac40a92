"""Evaluation as Caffe does it: blobs, scores, the means of test nets."""
