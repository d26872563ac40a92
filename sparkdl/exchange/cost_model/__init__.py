"""Cost model of the exchanges, and a short benchmark that measures its constants."""
