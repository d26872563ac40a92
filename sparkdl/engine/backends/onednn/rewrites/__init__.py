"""Functions that turn a graph into one that oneDNN runs faster, with the operations they put in."""
