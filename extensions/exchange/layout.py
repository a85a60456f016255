"""The paths of results in the forms of other tools, and of comparisons with other results, below the results."""

from beirflow.core.patterns import Derived, Pattern

OPEN_RUN = Derived("open-runs/{system}/{dataset}.trec.gz", "run in TREC format with an ir_metadata header")

PREDICTIONS = Derived("predictions/{system}/{dataset}.top-{depth}.json", "top documents as predictions of MTEB")

MTEB_RESULT = Derived("mteb/{system}/{task}.json", "result in MTEB's format")

OWN_TASK = Derived("mteb-tasks/{task}.json", "metadata of a task of your own, as MTEB has them")
MODEL_INDEX = Derived("mteb/{system}/model-index.yaml")
EVAL_RESULT = Derived("mteb/{system}/eval_results/{task}.yaml")

CRATE = Derived("ro-crate-metadata.json", "results as a Workflow Run RO-Crate")
CRATE_CODE = Pattern("code")
CRATE_CONFIGURATION = Derived("code/configuration.yaml")
CRATE_README = Derived("README.md")

GATE = Derived("gate.json")
GATE_JUNIT = Derived("gate.xml")
GATE_COMMENT = Derived("gate.md")

COMPARISON = Derived("comparison.html")
COMPARISON_RECORD = Derived("comparison.json")
LEADERBOARD = Derived("leaderboard/index.html")
LEADERBOARD_TABLE = Derived("leaderboard/leaderboard.csv")
