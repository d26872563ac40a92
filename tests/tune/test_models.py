"""Networks of finished trials, in memory and in a folder."""

import pytest

from sparkdl.errors import ConfigError
from sparkdl.training.network import Network
from sparkdl.tune.models import Models
from tests.training.models import assert_equal
from tests.tune.spaces import GOOD, conf_of


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a folder"])
def test_a_network_comes_back(kept, tmp_path):
    models, network = Models(tmp_path if kept else None), Network(conf_of(GOOD))
    models.put(3, network)
    found = models.get(3)
    assert found.conf == network.conf
    assert_equal(found.state, network.state)
    models.check(4)


def test_one_of_an_earlier_driver_is_in_a_folder_or_lost(tmp_path):
    Models(tmp_path).put(0, Network(conf_of(GOOD)))
    assert Models(tmp_path).get(0).conf == conf_of(GOOD)
    with pytest.raises(ConfigError, match="Search.path must be given where a study is continued"):
        Models(None).get(0)


def test_a_folder_of_another_study_is_refused(tmp_path):
    Models(tmp_path).put(5, Network(conf_of(GOOD)))
    with pytest.raises(ConfigError, match="Search.path must be a folder of this study, got .* 5"):
        Models(tmp_path).check(5)
