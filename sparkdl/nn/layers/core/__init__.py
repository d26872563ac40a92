"""The interface of layers, and what all kinds of layers share."""
