"""Freezes the modules of a fork server once, so that no fork has to."""

from sparkdl.training.workers.frozen_modules import freeze_modules

freeze_modules()
