"""Judged queries and judgements: what is kept, in which order, and what is refused."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beir_writer import write_beir
from beirflow.core.errors import DataError
from beirflow.data.judged_queries import read_judged_queries
from beirflow.data.sources.beir_files import Source


def refuses(source: Source, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        read_judged_queries(source, "test")


def dataset(folder: Path, qrels: str = "q1\td1\t1\n", queries: str = '{"_id": "q1", "text": "one"}\n') -> Source:
    write_beir(folder, {"d1": "text"}, {}, {})
    (folder / "qrels/test.tsv").write_text(qrels, encoding="utf-8")
    (folder / "queries.jsonl").write_text(queries, encoding="utf-8")
    return Source(folder)


# U+FDD1 between spaces stands between the texts of a list, and is refused in any other query.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufdd1"), min_size=1, max_size=5)
IDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1, max_size=5)


JUDGED = st.tuples(TEXT.filter(str.strip), st.dictionaries(IDS, st.integers(-9, 9), min_size=1, max_size=4))


@given(judged=st.dictionaries(IDS, JUDGED, min_size=1, max_size=6))
def test_judged_queries_and_judgements_come_back_in_byte_order_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, judged: dict[str, tuple[str, dict[str, int]]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    texts, judgements = ({query_id: both[i] for query_id, both in judged.items()} for i in range(2))
    write_beir(folder, {"d": "x"}, {"not judged \n": "no", **texts}, judgements)
    queries, qrels = read_judged_queries(Source(folder), "test")
    ordered = sorted(judged, key=str.encode)
    assert queries.to_pydict() == {"query_id": ordered, "text": [texts[query_id] for query_id in ordered]}
    by_id = {query_id: sorted(judgements[query_id].items(), key=lambda each: each[0].encode()) for query_id in ordered}
    assert [tuple(row.values()) for row in qrels.to_pylist()] == [
        (query_id, *each) for query_id in by_id for each in by_id[query_id]
    ]
    assert queries.schema.types == [pa.string(), pa.large_string()]
    assert qrels.schema.types == [pa.string(), pa.string(), pa.int32()]


def test_a_judgement_that_is_repeated_counts_once_and_both_are_named_if_they_contradict(tmp_path: Path) -> None:
    _, qrels = read_judged_queries(dataset(tmp_path / "a", "q1\td1\t2\nq1\td2\t0\nq1\td1\t2\n"), "test")
    assert [tuple(row.values()) for row in qrels.to_pylist()] == [("q1", "d1", 2), ("q1", "d2", 0)]
    for first, then in ((2, 1), (1, 2)):
        says = f"qrels/test.tsv:4: found the score {then} for query 'q1' and document 'd1', but line 1 says {first}"
        refuses(dataset(tmp_path / "b", f"q1\td1\t{first}\nq1\td2\t0\n\nq1\td1\t{then}\n"), f"{tmp_path}/b/{says}")


def test_a_score_that_measures_cannot_hold_is_refused(tmp_path: Path) -> None:
    for score in (1000, -1000):
        assert read_judged_queries(dataset(tmp_path, f"q1\td1\t{score}\n"), "test")[1]["score"].to_pylist() == [score]
    for score in (1001, -1001, 2**31):
        expected = f"qrels/test.tsv:1: a score of at most 1000 was expected, found {score}"
        refuses(dataset(tmp_path, f"q1\td1\t{score}\n"), expected)


@pytest.mark.parametrize("qrels", ["", "\n\n", "query-id\tcorpus-id\tscore\r\n"])
def test_a_file_without_judgements_is_refused(tmp_path: Path, qrels: str) -> None:
    refuses(dataset(tmp_path, qrels), f"{tmp_path}/qrels/test.tsv: no judgements; at least one was expected")


def test_judged_queries_that_do_not_exist_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    source = dataset(tmp_path, "q1\td1\t1\nq9\td1\t1\nq8\td1\t1\n")
    refuses(source, f"{tmp_path}/qrels/test.tsv: 2 judged queries are not in {tmp_path}/queries.jsonl (first 'q8')")


NO_TEXT = dict.fromkeys(["", ', "text": null', ', "text": ""', ', "text": " \\n"'], "has judgements but no text")


@pytest.mark.parametrize(("text", "says"), [*NO_TEXT.items(), (', "text": ["a"]', "must have a text, found ['a']")])
def test_a_query_without_text_is_refused_only_if_it_is_judged(tmp_path: Path, text: str, says: str) -> None:
    queries = f'{{"_id": "q1", "text": "one"}}\n{{"_id": "q2"{text}}}\n'
    table, _ = read_judged_queries(dataset(tmp_path, queries=queries), "test")
    assert table.to_pylist() == [{"query_id": "q1", "text": "one"}]
    source = dataset(tmp_path, "q1\td1\t1\nq2\td1\t0\n", queries)
    refuses(source, f"{tmp_path}/queries.jsonl:2: the query 'q2' {says}")


def test_a_query_that_would_be_taken_for_a_list_of_texts_is_refused(tmp_path: Path) -> None:
    source = dataset(tmp_path, queries='{"_id": "q1", "text": "a \ufdd1 b"}\n')
    refuses(source, "queries.jsonl:1: the text of query 'q1' has the character U+FDD1 between spaces")
    source = dataset(tmp_path, queries='{"_id": "q1", "text": "a\ufdd1 b"}\n')
    assert read_judged_queries(source, "test")[0]["text"].to_pylist() == ["a\ufdd1 b"]


def test_a_judged_query_that_stands_twice_is_named_with_both_lines(tmp_path: Path) -> None:
    queries = '{"_id": "q0", "text": "zero"}\n{"_id": "q1", "text": "one"}\n\n{"_id": "q1", "text": "uno"}\n'
    source = dataset(tmp_path, queries=queries)
    refuses(source, f"{tmp_path}/queries.jsonl:4: the query id 'q1' is already in line 2; ids must be unique")
