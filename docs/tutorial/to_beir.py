"""Write the two tables as a dataset in BEIR form: corpus.jsonl, queries.jsonl and qrels/test.tsv."""

import csv
import json
from pathlib import Path


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a table; spreadsheets begin UTF-8 with a mark."""
    with Path(name).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


faq, questions = rows_of("faq.csv"), rows_of("questions.csv")
corpus = [{"_id": row["id"], "title": row["question"], "text": row["answer"]} for row in faq]
queries = [{"_id": row["id"], "text": row["question"]} for row in questions]
pairs = [(row["id"], answer, "1") for row in questions for answer in row["answers"].split()]

Path("faq/qrels").mkdir(parents=True, exist_ok=True)
Path("faq/corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus), encoding="utf-8")
Path("faq/queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries), encoding="utf-8")
Path("faq/qrels/test.tsv").write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")
