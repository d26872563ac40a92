"""Net messages in the form of Caffe 1.0, for one phase, with unique names."""
