"""Write the two tables as a dataset in BEIR form: corpus.jsonl, queries.jsonl and qrels/test.tsv."""

import csv
import json
from pathlib import Path

Path("faq/qrels").mkdir(parents=True, exist_ok=True)
faq, questions = (list(csv.DictReader(Path(name).open(encoding="utf-8"))) for name in ("faq.csv", "questions.csv"))

corpus = [{"_id": row["id"], "title": row["question"], "text": row["answer"]} for row in faq]
queries = [{"_id": row["id"], "text": row["question"]} for row in questions]
pairs = [(row["id"], answer, "1") for row in questions for answer in row["answers"].split()]

Path("faq/corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus), encoding="utf-8")
Path("faq/queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries), encoding="utf-8")
Path("faq/qrels/test.tsv").write_text("".join("\t".join(row) + "\n" for row in pairs), encoding="utf-8")
