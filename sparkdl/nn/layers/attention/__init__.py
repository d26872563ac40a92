"""Attention layers, in which each step attends to the steps of a sequence."""
