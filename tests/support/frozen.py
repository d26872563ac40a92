"""Freezes the modules that a server of forks has loaded, else each fork would do it."""

from sparkdl.training.workers.frozen_modules import freeze_modules

freeze_modules()
