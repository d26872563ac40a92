"""The position of a layer under test, which seeds its random numbers."""

import numpy as np

BATCH, SEED, STREAM, EPOCH = 3, 5, 2, 4
IDS = np.array([7, 1 << 40, (1 << 40) + 1], np.uint64)
