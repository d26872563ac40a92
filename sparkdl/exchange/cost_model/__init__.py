"""How long exchanges take: a model, and a short run that measures its constants."""
