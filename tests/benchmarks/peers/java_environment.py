"""The class path of a Java peer: peers/<name>/pom.xml and one class, compiled once."""

import shutil
import subprocess
from pathlib import Path

from tests.benchmarks.peers.environment import HERE, ROOT

OPENED = (  # JDK packages that Spark 3.5 and Kryo access by reflection
    "java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util "
    "java.util.concurrent java.util.concurrent.atomic jdk.internal.ref sun.nio.ch sun.nio.cs "
    "sun.security.action sun.util.calendar"
)
MEMORY = ["-Xmx3g", "-Dorg.bytedeco.javacpp.maxbytes=4G"]
MEMORY += ["-Dorg.bytedeco.javacpp.maxphysicalbytes=10G"]


def java_of(name):
    """Returns the command that runs the class of peers/<name>, compiling it if needed."""
    [source] = (HERE / name).glob("*.java")
    folder = ROOT / ".bench" / name
    classes, path = folder / "classes", folder / "classpath"
    wanted = source.read_text() + (HERE / name / "pom.xml").read_text()
    done = folder / "complete"
    if not done.exists() or done.read_text() != wanted:
        print(f"making the class path of {name} (once, some minutes) ...", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        classes.mkdir(parents=True)
        words = ["mvn", "-q", "-B", "dependency:build-classpath", f"-Dmdep.outputFile={path}"]
        subprocess.run([*words, f"-Dsimd={simd()}"], cwd=HERE / name, check=True)
        javac = ["javac", "-proc:none", "-d", classes, "-cp", path.read_text(), source]
        subprocess.run(javac, check=True)
        done.write_text(wanted)
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED.split()]
    return ["java", *MEMORY, *opened, "-cp", f"{classes}:{path.read_text()}", source.stem]


def simd():
    """Returns the widest instruction set of this processor that the peer supports."""
    return "avx512" if "avx512f" in Path("/proc/cpuinfo").read_text() else "avx2"
