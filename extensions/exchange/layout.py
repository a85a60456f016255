"""The paths of results in the forms of other tools, and of comparisons with other results, below the results."""

from beirflow.core.patterns import Derived, Pattern

OPEN_RUN = Derived("open-runs/{system}/{dataset}.trec.gz")  # a run in TREC form with a header that says where it comes from

PREDICTIONS = Derived("predictions/{system}/{dataset}.top-{depth}.json")  # the first documents of a run in MTEB's form

MTEB_RESULT = Derived("mteb/{system}/{task}.json")  # of a task of MTEB, in its form

OWN_TASK = Derived("mteb-tasks/{task}.json")  # the metadata of a task of one's own
MODEL_INDEX = Derived("mteb/{system}/model-index.yaml")
EVAL_RESULT = Derived("mteb/{system}/eval_results/{task}.yaml")

CRATE = Derived("ro-crate-metadata.json")
CRATE_CODE = Pattern("code")
CRATE_CONFIGURATION = Derived("code/configuration.yaml")
CRATE_README = Derived("README.md")

COMPARISON = Derived("comparison.html")
COMPARISON_RECORD = Derived("comparison.json")
LEADERBOARD = Derived("leaderboard/index.html")
LEADERBOARD_TABLE = Derived("leaderboard/leaderboard.csv")
