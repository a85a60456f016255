"""The paths of results in the forms of other tools, and of comparisons with other results, below the results."""

from beirflow.core.patterns import ForReading, Pattern

OPEN_RUN = ForReading("open-runs/{system}/{dataset}.trec.gz")  # a run in TREC form with a header that says where it comes from

PREDICTIONS = ForReading("predictions/{system}/{dataset}.top-{depth}.json")  # the first documents of a run in MTEB's form

MTEB_RESULT = ForReading("mteb/{system}/{task}.json")  # of a task of MTEB, in its form

MODEL_INDEX = ForReading("mteb/{system}/model-index.yaml")
EVAL_RESULT = ForReading("mteb/{system}/eval_results/{task}.yaml")

CRATE = ForReading("ro-crate-metadata.json")
CRATE_CODE = Pattern("code")
CRATE_CONFIGURATION = ForReading("code/configuration.yaml")
CRATE_README = ForReading("README.md")

COMPARISON = ForReading("comparison.html")
COMPARISON_RECORD = ForReading("comparison.json")
LEADERBOARD = ForReading("leaderboard/index.html")
LEADERBOARD_TABLE = ForReading("leaderboard/leaderboard.csv")
