"""Windows that slide over the axes of space: their number, their padding, and the layers below."""
