"""Small in-memory disks, for tests of full disks."""

import subprocess
from contextlib import contextmanager


def may_mount():
    """Returns whether this user may mount disks and create mount namespaces."""
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    try:
        return subprocess.run(command, capture_output=True, timeout=30).returncode == 0
    except OSError:
        return False


@contextmanager
def small_disk(folder, size):
    """Mounts a disk of the given size, such as "8k", at a folder while the block runs."""
    folder.mkdir(parents=True, exist_ok=True)
    options = ["-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs"]
    subprocess.run(["mount", *options, str(folder)], check=True, timeout=30)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=30)
