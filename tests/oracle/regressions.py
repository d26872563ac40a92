"""Cases that once differed, each named by what was wrong."""

REGRESSIONS = {}
