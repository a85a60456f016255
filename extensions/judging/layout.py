"""The paths of pools and of their judgements below the results."""

from beirflow.core.patterns import Derived

POOL = Derived("pool/{dataset}.jsonl", "unjudged documents in the first ranks of all systems")
POOL_RECORD = Derived("pool/{dataset}.json")
JUDGED = Derived("judge/{dataset}.jsonl")
RECORD = Derived("judge/{dataset}.json")
SAMPLE = Derived("judge/{dataset}-sample.jsonl")  # pairs that people judged, which the judge grades too
ANSWERS = Derived("judge/{dataset}.answers")  # all answers of the judge, which no job asks for again
PAGE = Derived("judge/{dataset}.html", "the same judged by a model")
