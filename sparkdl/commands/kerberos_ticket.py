"""Whether this machine has the Kerberos ticket that a submission to YARN needs."""

import os
import shutil
import subprocess
from contextlib import suppress

from sparkdl.data.hadoop import tokens
from sparkdl.data.hadoop.kerberos import has_kerberos

KEYTAB = "spark.kerberos.keytab", "spark.yarn.keytab"
NOTE = (
    "the cluster has Kerberos, and klist finds no valid ticket; run kinit, or set "
    "spark.kerberos.keytab and spark.kerberos.principal; unless spark-defaults.conf has them, "
    "spark-submit tries for 15 minutes"
)
LIMIT = 10.0  # seconds for klist, whose cache may lie on another host
ENDING = 1.0  # seconds for the end of a killed klist
SILENT = "klist has not answered within {:g} s, so the Kerberos ticket is not checked"


def check_ticket(master, known):
    """Yields a note if a submission with these settings may lack a ticket.

    Parameters
    ----------
    master : str or None
        Of Spark.
    known : dict
        Settings of Spark, {key: value}.
    """
    has_other = os.environ.get(tokens.LOCATION) or any(key in known for key in KEYTAB)
    if master != "yarn" or has_other or not has_kerberos():
        return
    try:
        if not has_ticket():
            yield NOTE
    except subprocess.TimeoutExpired:
        yield SILENT.format(LIMIT)


def has_ticket():
    """Returns whether klist finds a valid ticket, or is not installed.

    Raises subprocess.TimeoutExpired if it does not answer.
    """
    program = shutil.which("klist")
    return program is None or exit_code([program, "-s"]) == 0


def exit_code(command):
    """Returns the exit code of a program; kills it after LIMIT, and raises TimeoutExpired.

    `subprocess.call` would then wait for its end without a limit, and a program that waits for a
    file system does not end when it is killed.
    """
    process = subprocess.Popen(command)
    try:
        return process.wait(LIMIT)
    except BaseException:
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDING)
        raise
