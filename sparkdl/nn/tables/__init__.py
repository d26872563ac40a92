"""Tables of embeddings outside the parameter vector: a step costs what the rows it touches cost."""
