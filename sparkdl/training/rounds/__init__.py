"""A round of training: where it is cut, and what each worker computes."""
