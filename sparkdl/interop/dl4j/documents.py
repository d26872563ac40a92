"""Contents of a zip file of Deeplearning4j's ModelSerializer."""

from dataclasses import dataclass

from sparkdl.errors import DataError
from sparkdl.interop.archives import read_members
from sparkdl.interop.json_member import parse_json

MEMBERS = ("configuration.json", "coefficients.bin", "updaterState.bin", "normalizer.bin")
SERIALIZED = b"\xac\xed"  # magic number of serialized Java objects
OLD = ("updater.bin", "preprocessor.bin")


@dataclass(frozen=True, kw_only=True)
class Dl4jDocument:
    """A model as stored in a file.

    Parameters
    ----------
    path : str
        Path of the file, for errors.
    config : dict
        Configuration of a MultiLayerNetwork or a ComputationGraph.
    coefficients : bytes
    updater, normalizer : bytes or None
    """

    path: str
    config: dict
    coefficients: bytes
    updater: bytes | None = None
    normalizer: bytes | None = None


def read_document(path):
    """Reads the Dl4jDocument in a file, local or a URI."""
    parts, names = read_members(path, MEMBERS)
    for name in ("configuration.json", "coefficients.bin"):
        if name not in parts:
            raise DataError(f"{path}: must hold {name}, got {sorted(names)[:5]}")
    refuse_serialized(path, parts, names)
    return Dl4jDocument(
        path=str(path),
        config=parse_json(parts["configuration.json"], f"{path}, configuration.json"),
        coefficients=parts["coefficients.bin"],
        updater=parts.get("updaterState.bin"),
        normalizer=parts.get("normalizer.bin"),
    )


def refuse_serialized(path, parts, names):
    """Refuses serialized Java objects, which could only be read by running code."""
    found = [name for name in OLD if name in names]
    found += [name for name, content in parts.items() if content[:2] == SERIALIZED]
    if found:
        raise DataError(
            f"{path}: {', '.join(found)} must not be serialized by Java; save the model by "
            "Deeplearning4j 0.9 or later"
        )
