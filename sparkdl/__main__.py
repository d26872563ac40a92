"""Entry for `python -m sparkdl` and for `spark-submit sparkdl/__main__.py`."""

import sys
from pathlib import Path

if not __package__:
    # Run as a file: its folder comes first on the path, and `errors`, `data` ... would be found
    # there without their package. The folder above comes last, after what --py-files brought.
    own = Path(__file__).resolve().parent
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != own]
    sys.path.append(str(own.parent))

from sparkdl.cli import main

if __name__ == "__main__":
    sys.exit(main())
