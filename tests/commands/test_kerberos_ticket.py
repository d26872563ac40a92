"""Submissions to YARN are warned of a missing Kerberos ticket, with a klist that is a script."""

import subprocess

import pytest

from sparkdl.commands import kerberos_ticket
from sparkdl.commands.kerberos_ticket import NOTE, check_ticket
from sparkdl.data.hadoop import tokens
from tests.data.hadoop.folders import configured

SECURE = {"hadoop.security.authentication": "kerberos"}


def klist(folder, monkeypatch, code):
    """Makes a klist that exits with `code` the only program; None: there is none."""
    if code is not None:
        (folder / "klist").write_text(f'#!/bin/sh\n[ "$1" = -s ] && exit {code}\n')
        (folder / "klist").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


CASES = {
    "no ticket": ("yarn", {}, SECURE, 1, [NOTE]),
    "a ticket": ("yarn", {}, SECURE, 0, []),
    "no klist": ("yarn", {}, SECURE, None, []),
    "a keytab": ("yarn", {"spark.kerberos.keytab": "ann.keytab"}, SECURE, 1, []),
    "another master": ("spark://host:7077", {}, SECURE, 1, []),
    "no Kerberos": ("yarn", {}, {}, 1, []),
}


@pytest.mark.parametrize("name", CASES)
def test_a_missing_ticket_is_noted(tmp_path, monkeypatch, name):
    master, known, core, code, notes = CASES[name]
    monkeypatch.delenv(tokens.LOCATION, raising=False)
    klist(tmp_path, monkeypatch, code)
    configured(tmp_path, monkeypatch, core=core)
    assert [*check_ticket(master, known)] == notes


@pytest.mark.slow
def test_a_klist_that_does_not_answer_is_told(tmp_path, monkeypatch):
    monkeypatch.delenv(tokens.LOCATION, raising=False)
    monkeypatch.setattr(kerberos_ticket, "LIMIT", 0.2)
    klist(tmp_path, monkeypatch, 0)
    (tmp_path / "klist").write_text("#!/bin/sh\nexec /bin/sleep 20\n")
    configured(tmp_path, monkeypatch, core=SECURE)
    text = "klist has not answered within 0.2 s, so the Kerberos ticket is not checked"
    assert [*check_ticket("yarn", {})] == [text]


class Stuck:
    """A klist in the kernel, which no signal ends."""

    returncode = None

    def __init__(self, command):
        self.killed = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.wait()

    def wait(self, timeout=None):
        assert timeout is not None, "waits without a limit"
        raise subprocess.TimeoutExpired("klist", timeout)

    def kill(self):
        self.killed = True


def test_a_klist_that_survives_its_kill_does_not_stop_a_submission(tmp_path, monkeypatch):
    monkeypatch.delenv(tokens.LOCATION, raising=False)
    klist(tmp_path, monkeypatch, 0)
    configured(tmp_path, monkeypatch, core=SECURE)
    monkeypatch.setattr(subprocess, "Popen", Stuck)
    assert [*check_ticket("yarn", {})] == [kerberos_ticket.SILENT.format(kerberos_ticket.LIMIT)]


def test_a_configuration_that_cannot_be_read_does_not_stop_a_submission(tmp_path, monkeypatch):
    monkeypatch.delenv(tokens.LOCATION, raising=False)
    klist(tmp_path, monkeypatch, 1)
    configured(tmp_path, monkeypatch, core=SECURE)
    (tmp_path / "core-site.xml").write_text("<configuration>")
    assert [*check_ticket("yarn", {})] == []


def test_tokens_serve_as_well(tmp_path, monkeypatch):
    monkeypatch.setenv(tokens.LOCATION, "/tokens")
    klist(tmp_path, monkeypatch, 1)
    configured(tmp_path, monkeypatch, core=SECURE)
    assert [*check_ticket("yarn", {})] == []
