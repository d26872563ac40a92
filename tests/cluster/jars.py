"""The jars of Hadoop's daemons: most come with pyspark, the rest once from Maven Central."""

import hashlib
import os
import shutil
import urllib.request
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

HADOOP = "3.5.0"
MINI_CLUSTER = f"org/apache/hadoop/hadoop-client-minicluster/{HADOOP}"
CASTLE = "org/bouncycastle"  # for the ResourceManager's certificates; undeclared by the jar above
PINNED = {  # path in the repository: SHA-256
    f"{MINI_CLUSTER}/hadoop-client-minicluster-{HADOOP}.jar": (
        "06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c"
    ),
    f"{CASTLE}/bcprov-jdk18on/1.82/bcprov-jdk18on-1.82.jar": (
        "14cde2fdfaa8890480a8e5b67aceef0c90f96682c1e23c133bafdc9e0b3255ce"
    ),
    f"{CASTLE}/bcpkix-jdk18on/1.82/bcpkix-jdk18on-1.82.jar": (
        "bdc723e20834832ac6af136cb5b5ff05e43b71d4fa151cc6510d9212ee086e63"
    ),
    f"{CASTLE}/bcutil-jdk18on/1.82/bcutil-jdk18on-1.82.jar": (
        "4420691958ad1c0ba275a6d6d8a6317adbdbdc9277055b6a72aa89c88cda8c7d"
    ),
}
BROUGHT = "hadoop-client-", "jcl-over-slf4j-", "log4j-", "slf4j-", "snappy-java-"
CENTRAL = "https://repo1.maven.org/maven2"
PATIENCE, ATTEMPTS = 60, 3  # seconds to wait for the repository
# Read at import: the tests later set a temporary cache, which is deleted with them.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "sparkdl", "jars")


class Unavailable(Exception):
    """This machine cannot run Hadoop's daemons; the message says why."""


def class_path(cache=CACHE):
    """The class path of the daemons; missing jars are downloaded."""
    own = [fetched(path, digest, cache) for path, digest in PINNED.items()]
    jars = Path(_find_spark_home(), "jars")
    if not (jars / f"hadoop-client-runtime-{HADOOP}.jar").exists():
        raise Unavailable(f"pyspark must bring Hadoop {HADOOP}, got another in {jars}")
    return os.pathsep.join([*(f"{jars}/{name}" for name in brought(jars)), *map(str, own)])


def brought(jars):
    """Names of pyspark's jars that the daemons need; all 400 would slow down each class lookup."""
    return sorted(name for name in os.listdir(jars) if name.startswith(BROUGHT))


def fetched(path, digest, cache):
    """A jar in the cache, verified against its pinned digest."""
    place = cache / Path(path).name
    if not place.exists():
        cache.mkdir(parents=True, exist_ok=True)
        part = place.with_suffix(f".{os.getpid()}")  # another run may download the same file
        try:
            fetch(f"{os.environ.get('SPARKDL_MAVEN', CENTRAL)}/{path}", part)
            check(part, digest)
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
    return place


def fetch(address, place):
    """Downloads an address to a file; retries if the connection breaks."""
    for attempt in range(ATTEMPTS):
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                with open(place, "wb") as file:
                    return shutil.copyfileobj(answer, file)
        except OSError as error:
            if attempt == ATTEMPTS - 1:
                raise Unavailable(
                    f"{address} must be there to fetch, got {error}; let SPARKDL_MAVEN be the "
                    "address of a mirror of Maven's central repository"
                ) from error


def check(place, digest):
    with open(place, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != digest:
        raise Unavailable(f"{place.stem} must have SHA-256 {digest}, got {found}")
