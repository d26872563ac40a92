import subprocess
import sys

import pytest

from tests.support.jax_programs import EMITTERS_OFF, flags_of


@pytest.mark.parametrize("version", ["0.6.2", "0.10.2", "0.11.0", "0.11.0rc1", "0.9.0+cuda12"])
def test_programs_are_compiled_without_emitters_where_jax_has_a_flag_for_it(version):
    assert EMITTERS_OFF in flags_of(version)


@pytest.mark.parametrize("version", ["0.11.1", "0.12.0.1", "1.0.0", "0.12.0rc1", "1.0"])
def test_later_versions_which_end_a_process_that_has_the_flag_are_not_given_it(version):
    assert EMITTERS_OFF not in flags_of(version)


def test_tests_that_need_no_jax_run_without_it():
    assert flags_of(None) == []


@pytest.mark.slow
def test_the_installed_jax_knows_all_flags():
    pytest.importorskip("jax")
    subprocess.run([sys.executable, "-c", "import jax; jax.devices()"], check=True, timeout=120)
