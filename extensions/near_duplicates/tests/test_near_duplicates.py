"""Near-duplicates, beside brute force over sets of words, and the scores without them."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import regex

from beirflow.core.errors import DataError
from beirflow.extensions.near_duplicates.near_duplicates import find_near_duplicates, grams_of, near_duplicates
from call_with_fields import call
from results_writer import write_metrics
from run_results import RunResults

LONG = "The quick brown fox jumps over the lazy dog, and runs away from the house"
OURS = {
    "q0": "what is a fox?",
    "q1": "where did the quick brown fox run after it had jumped over that dog?",
    "q2": "who?",
    "q3": "why so?",
}
DOCUMENTS = {"d0": LONG, "d1": "nothing of this is anywhere else in the world, as far as it is known", "d2": ""}
QRELS = {"q0": {"d1": 1}, "q1": {"d1": 1, "d0": 0}, "q2": {"d0": 1}, "q3": {"d1": 1}}
THEIRS = {"t0": f"{LONG.upper()}!", "t1": "The quick brown fox jumps over the lazy cat", "t2": "What is a FOX", "t3": "?"}


def brute_force(ours: pd.DataFrame, others: pd.DataFrame) -> set[tuple[str, str, float]]:
    def grams(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.lower())
        return {tuple(words[start : start + 8]) for start in range(max(1, len(words) - 7))} if words else set()

    found = set()
    for one, text in zip(ours["id"], ours["text"], strict=True):
        for other, their_text in zip(others["id"], others["text"], strict=True):
            share = len(grams(text) & grams(their_text)) / max(1, len(grams(text)))
            found |= {(one, other, share)} if share >= 0.5 else set()
    return found


def test_near_duplicates_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(3)

    def texts(name: str, count: int) -> pd.DataFrame:
        lengths = rng.integers(0, 25, count)
        # Few words in one order, so that stretches of eight recur.
        starts = rng.integers(0, 30, count)
        words = [
            [f"w{(start + i + (rng.random() < 0.03)) % 40}é" for i in range(n)] for start, n in zip(starts, lengths, strict=True)
        ]
        return pd.DataFrame(
            {"kind": name, "id": [f"{name}{i}" for i in range(count)], "text": [" ".join(each) for each in words]}
        )

    ours, others = texts("a", 60), texts("b", 80)
    found = near_duplicates(ours, [others.iloc[:30], others.iloc[30:30], others.iloc[30:]])
    expected = brute_force(ours, others)
    assert len(expected) > 20
    assert set(zip(found["id"], found["other_id"], found["share"].astype(float), strict=True)) == expected


def find(folder: Path, other: str = "theirs") -> pd.DataFrame:
    results = RunResults(folder, DOCUMENTS, OURS, qrels=QRELS)
    theirs = RunResults(folder, THEIRS, {"train": OURS["q3"]}, dataset="theirs", qrels={"train": {"t0": 1}})
    values = {"NDCG@10": [0.1, 0.2, 0.4, 0.8]}
    means, per_query = write_metrics(folder, "x", "small", values, ids=list(OURS))
    call(
        find_near_duplicates,
        dataset="small",
        other=other,
        **results.corpus_paths,
        other_documents_path=theirs.documents_path,
        other_queries_path=theirs.queries_path,
        means_paths=[means],
        per_query_paths=[per_query],
        main_measure="NDCG@10",
        scores_path=str(folder / "scores.csv"),
        pairs_path=str(folder / "pairs.csv"),
    )
    return pd.read_csv(folder / "scores.csv")


def test_scores_are_given_without_queries_and_relevant_documents_that_the_other_corpus_has(tmp_path: Path) -> None:
    (row,) = find(tmp_path).to_dict("records")
    pairs = pd.read_csv(tmp_path / "pairs.csv")
    assert sorted(zip(pairs["kind"], pairs["id"], pairs["other_kind"], pairs["other_id"], strict=True)) == [
        ("document", "d0", "document", "t0"),
        ("query", "q0", "document", "t2"),
        ("query", "q3", "query", "train"),
    ]
    assert (row["queries"], row["left_queries"], row["left_either"]) == (4, 2, 1)
    means = {"all": 0.375, "without_queries": 0.3, "without_either": 0.2}
    assert {name: row[name] for name in means} == pytest.approx(means)


def test_a_corpus_is_not_compared_with_itself(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="small is compared with itself"):
        find(tmp_path, other="small")


CHINESE = "信息检索是从大规模文档集合中查找相关文档的过程，评测需要可靠的人工标注。"
JAPANESE = "情報検索とは、大量の文書の中から必要な情報を見つけ出す技術のことである。"
THAI = "การค้นคืนสารสนเทศคือการค้นหาเอกสารที่เกี่ยวข้องจากเอกสารจำนวนมาก"


@pytest.mark.parametrize("text", [CHINESE, JAPANESE, THAI])
def test_near_duplicates_are_found_in_scripts_without_spaces(text: str) -> None:
    half = len(text) // 2
    others = {"same": f"{text}!", "edited": f"X{text[:-4]}", "middle": text[5:], "other": text[:4] + text[half : half + 6]}
    ours = pd.DataFrame({"kind": "document", "id": ["a"], "text": [text]})
    batch = pd.DataFrame({"kind": "document", "id": list(others), "text": list(others.values())})

    def grams(each: str) -> set[str]:
        parts = [part.group() for part in regex.finditer(r"(?=\p{L})\X|[a-z]+", each.lower())]
        return {"".join(parts[start : start + 8]) for start in range(len(parts) - 7)}

    shares = {name: len(grams(text) & grams(each)) / len(grams(text)) for name, each in others.items()}
    expected = {name for name, share in shares.items() if share >= 0.5}
    assert expected == {"same", "edited", "middle"}
    assert {*near_duplicates(ours, [batch])["other_id"]} == expected


def test_words_beside_characters_of_scripts_without_spaces_stay_words() -> None:
    rows, _ = grams_of(["two words", "BM25 検索 one", "สวัสดี", ""])
    assert rows.tolist() == [0, 1, 2]
    (mixed,), (apart,) = (grams_of([text])[1] for text in ("BM25検索 one", "bm25 検 索 ONE"))
    assert mixed == apart
