"""python -m tests.chaos.simulation --seeds 1000: the exchange in so many simulated worlds.

For each that breaks a promise its seed and the promises are printed; then it ends with 1.
"""

import argparse
import re
import sys
import time

from tests.chaos.simulation.scenario import FAULTS, Scenario
from tests.chaos.simulation.store_scenario import StoreScenario

SCENARIOS = {"group": Scenario, "store": StoreScenario}


def main():
    options = parser().parse_args()
    start, failed, switches = time.process_time(), 0, 0
    for seed in range(options.first, options.first + options.seeds):
        found, told = outcome(seed, options)
        if options.twice and outcome(seed, options) != (found, told):
            found.append("it went another way when it was repeated")
        switches += told[1]
        if found:
            failed += 1
            print(told[3], *found[:8], sep="\n    ", flush=True)
    seconds = time.process_time() - start
    print(f"{options.seeds} seeds, {failed} failed, {seconds:.1f} s of CPU, {switches} switches")
    sys.exit(failed > 0)


def parser():
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.simulation")
    parser.add_argument("--seeds", type=int, default=1000, help="number of worlds")
    parser.add_argument("--first", type=int, default=0, help="the seed to begin with")
    parser.add_argument("--of", choices=SCENARIOS, default="group", help="what is simulated")
    parser.add_argument("--size", type=int, help="ranks; else drawn, from 2 to 64")
    parser.add_argument("--fault", choices=FAULTS, help="what goes wrong; else drawn")
    parser.add_argument("--twice", action="store_true", help="repeat each, which must be the same")
    return parser


def outcome(seed, options):
    """Returns (promises that were broken, what happened: when, in how many switches, ...)."""
    scenario = SCENARIOS[options.of](seed, options.size, options.fault)
    found = scenario.faults(scenario.run())
    errors = [re.sub("group/[0-9a-f]+", "", str(error)) for error in scenario.errors]
    return found, (scenario.world.now, scenario.world.switches, errors, str(scenario))


if __name__ == "__main__":
    main()
