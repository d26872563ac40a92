"""Cost model of the exchanges, and a short run that measures its constants."""
