"""The paths of pools and of their judgements below the results."""

from beirflow.core.patterns import ForReading

POOL = ForReading("pool/{dataset}.jsonl")
POOL_RECORD = ForReading("pool/{dataset}.json")
JUDGED = ForReading("judge/{dataset}.jsonl")
RECORD = ForReading("judge/{dataset}.json")
SAMPLE = ForReading("judge/{dataset}-sample.jsonl")  # pairs that people judged, which the judge grades too
ANSWERS = ForReading("judge/{dataset}.answers")  # all answers of the judge, which no job asks for again
PAGE = ForReading("judge/{dataset}.html")
