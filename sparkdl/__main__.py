"""Entry for `python -m sparkdl` and for `spark-submit sparkdl/__main__.py`."""

import sys
from pathlib import Path

if not __package__:
    # Run as a script: Python puts its folder first on the path, where `errors`, `data` ... would be
    # imported without their package. Put the parent folder last instead, after --py-files.
    own = Path(__file__).resolve().parent
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != own]
    sys.path.append(str(own.parent))

from sparkdl.cli import main

if __name__ == "__main__":
    sys.exit(main())
