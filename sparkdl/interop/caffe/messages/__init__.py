"""Caffe's protocol buffer messages: their fields, text files, binary files, blobs."""
