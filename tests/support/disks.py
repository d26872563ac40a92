"""Small disks, in memory, for tests of full ones."""

import subprocess
from contextlib import contextmanager


def may_mount():
    """Returns whether this user may mount disks, and has namespaces of mounts."""
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    try:
        return subprocess.run(command, capture_output=True, timeout=30).returncode == 0
    except OSError:
        return False


@contextmanager
def small_disk(folder, size):
    """Has a disk of so many bytes, such as "8k", at a folder for as long as the block runs."""
    folder.mkdir(parents=True, exist_ok=True)
    options = ["-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs"]
    subprocess.run(["mount", *options, str(folder)], check=True, timeout=30)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=30)
