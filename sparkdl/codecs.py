"""Codecs, which compress a vector of float32 into fewer bytes."""

from sparkdl.exchange import codecs as _codecs
from sparkdl.exchange.codecs import *  # noqa: F403

vars().update(__all__=_codecs.__all__)  # for help(); type checkers follow only the star
