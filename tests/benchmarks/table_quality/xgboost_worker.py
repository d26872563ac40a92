"""xgboost's side: probabilities of held-out records."""

import json
import sys
from pathlib import Path

import numpy as np
import xgboost

ROUNDS = 100  # XGBClassifier's default
path, kinds = Path(sys.argv[1]), json.loads(sys.argv[2])
given = np.load(path)
options = {"feature_types": kinds, "enable_categorical": True}
known = xgboost.DMatrix(given["x"], given["y"], **options)
held_out = xgboost.DMatrix(given["held_out"], **options)
model = xgboost.train({"objective": "binary:logistic"}, known, num_boost_round=ROUNDS)
np.save(path.with_suffix(".npy"), model.predict(held_out))
