"""Stand-ins for libraries that the tests' tables import but that are not needed here."""

import sys
from importlib.util import find_spec
from unittest.mock import MagicMock

LIBRARIES = {
    "jax": ("jax", "jax.numpy", "jax.lax"),
    "optax": ("optax",),
    "pytest": ("pytest",),
    "scipy": ("scipy", "scipy.special"),
}


def stand_in(present=False):
    """Lets the tables be imported without a library; code that needs it is never called.

    `present`: replace installed libraries too, which saves seconds.
    """
    for library, modules in LIBRARIES.items():
        if sys.modules.get(library) is None and (present or find_spec(library) is None):
            sys.modules |= {name: MagicMock() for name in modules}
