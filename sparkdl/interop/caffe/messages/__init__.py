"""Caffe's protocol buffer messages: fields, text files, binary files, blobs."""
