"""Collections on hubs, each in the layout that it has there: read as what it is, or refused with the reason."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from beirflow.core.errors import DataError
from beirflow.core.records import Job, read_json
from beirflow.data.corpus_files import PreparedCorpus, read_table, relevant_from
from beirflow.data.judged_queries import read_judged_queries
from beirflow.data.prepare import Preparation, prepare_corpus
from beirflow.data.sampling import sampled_queries
from beirflow.data.sources.fetch_dataset import fetch_dataset
from beirflow.data.sources.forms import HubForm
from beirflow.data.sources.hub_layout import LAYOUTS as LAYOUTS_BY_NAME
from beirflow.data.sources.hub_source import HubSource
from hub_datasets import REVISION, Hub, jsonl, put, put_parquet
from refusals import refused

Rows = list[dict[str, Any]]
Layout = tuple[dict[str, Rows], str | None, str]
"""Rows by config and split, ``subset``, and ``split``."""

CORPUS, QUERIES = [{"_id": "d1", "title": "", "text": "one"}], [{"_id": "q1", "text": "one?"}]
JUDGED = [{"query-id": "q1", "corpus-id": "d1", "score": 1}]
TEXTS = {"corpus": CORPUS, "queries": QUERIES}
PLAIN = {**TEXTS, "qrels": JUDGED}
CANDIDATES = [{"query-id": "q1", "corpus-ids": ["d1"]}]
INSTRUCTED = [{"query-id": "q1", "instruction": "Only about one."}]
BRIGHT = {"documents": CORPUS, "long_documents": CORPUS, "examples": [{"id": "0", "query": "one?", "gold_ids": ["d1"]}]}
CURE = {"corpus": CORPUS, "queries-en": QUERIES, "qrels": JUDGED}
LONG = {"corpus": [{"doc_id": "d1", "text": "one"}], "queries": [{"qid": "q1", "text": "one?"}], "qrels": [{"qid": "q1"}]}
NUGGET = {"_id": "q1_0", "text": "one", "relevant_corpus_ids": ["d1"], "non_relevant_corpus_ids": ["d2"]}
NUGGETS = [{"query_id": "q1", "query_title": "one?", "query_text": "or two", "nuggets": [NUGGET]}]


def layout(configs: Mapping[str, Rows], subset: str | None = None, split: str = "test", form: str = "{}") -> Layout:
    """Configs with a split, whose names may have the language as prefix or suffix."""
    return {f"{form.format(name)}/{split}": rows for name, rows in configs.items()}, subset, split


def together(one: Layout, other: Layout) -> Layout:
    """Two layouts in a repository, of which the first is asked for."""
    return one[0] | other[0], *one[1:]


LAYOUTS = {
    "NanoBEIR": layout({**TEXTS, "qrels": [{"query-id": "q1", "corpus-id": "d1"}]}, split="train"),
    "MIRACL": layout(PLAIN, "ar", "dev", "ar-{}"),
    "RTEB, texts in splits of their own": (
        {"corpus/corpus": CORPUS, "queries/queries": QUERIES, "default/test": JUDGED},
        None,
        "test",
    ),
    "CoIR, CodeSearchNet": together(layout(PLAIN, "python", form="python-{}"), layout(PLAIN, form="go-{}")),
    "BRIGHT": layout(BRIGHT, split="biology"),
    "BRIGHT, excluded documents as a column": layout({**PLAIN, "queries": [{**QUERIES[0], "excluded_ids": ["d1"]}]}),
    "RTEB, CUREv1": layout(CURE, split="dentistry"),
    "LongEmbed": ({f"narrativeqa/{name}": rows for name, rows in LONG.items()}, "narrativeqa", "test"),
    "FollowIR": layout({**PLAIN, "top_ranked": CANDIDATES, "instruction": INSTRUCTED}),
    "mFollowIR": layout({**PLAIN, "top_ranked": CANDIDATES, "instruction": INSTRUCTED}, "fas", form="{}-fas"),
    "mFollowIR, no language": layout({**PLAIN, "top_ranked": CANDIDATES}, form="{}-fas"),
    "FollowIR, a language as prefix": layout({**PLAIN, "qrel_diff": CANDIDATES}, "fas", form="fas-{}"),
    "InstructIR": layout({**PLAIN, "instruction": INSTRUCTED}),
    "InstructIR, instructions as a column": layout({**PLAIN, "queries": [{**QUERIES[0], "instruction": "Only about one."}]}),
    "FreshStack": layout({"langchain": NUGGETS}, "langchain"),
}

REASONS = {
    "BRIGHT": "found documents, examples, long_documents; this layout is not read",
    "RTEB, CUREv1": "expected queries or query in it, found corpus, qrels, queries-en",
    "LongEmbed": "found narrativeqa; this layout is not read",
    "FollowIR": "'top_ranked', so each query has candidates of its own",
    "mFollowIR": "'top_ranked-fas', so each query has candidates of its own",
    "mFollowIR, no language": "name one of its languages or parts in 'subset'",
    "FollowIR, a language as prefix": "'fas-qrel_diff', so its measure compares two runs of each topic, before and after a change"
    " of what is relevant; say 'layout: followir' for it",
    "InstructIR": "'instruction', so its queries come with instructions, which change what is relevant; say 'layout: followir' or"
    " 'layout: instructir' for it",
    "InstructIR, instructions as a column": "'instruction', which changes what is relevant",
    "FreshStack": "found langchain; this layout is not read",
}
"""Parts of the messages about those that are refused."""


def judgements(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: Mapping[str, Rows],
    subset: str | None,
    split: str,
    layout: str | None = None,
) -> Any:
    for name, lines in content.items():
        put_parquet(folder / f"hub/{name}-00000-of-00001.parquet", lines)
    form, record = HubForm("z/collection", REVISION, subset, layout=layout), folder / "results/data/own.json"
    with Hub({form.hub: folder / "hub"}, monkeypatch, folder / "cache"):
        job = Job(folder / "results", "fetch_dataset/own", "c0de")
        fetch_dataset(form=asdict(form), split=split, output_path=str(record), job=job)
    _, qrels = read_judged_queries(HubSource(record, form), split)
    return [tuple(row.values()) for row in qrels.to_pylist()]


@pytest.mark.parametrize("collection", LAYOUTS)
def test_a_collection_is_read_or_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collection: str
) -> None:
    if collection not in REASONS:
        assert judgements(tmp_path, monkeypatch, *LAYOUTS[collection]) == [("q1", "d1", 1)]
        return
    with refused(DataError, REASONS[collection]):
        judgements(tmp_path, monkeypatch, *LAYOUTS[collection])


def of_lengths(length: int) -> dict[str, Rows]:
    """LongEmbed's needle, in which every row has a length, so that ids repeat."""
    both = (256, 512)
    return {
        "needle/corpus": [{"doc_id": "d1", "text": f"{n}", "context_length": n} for n in both],
        "needle/queries": [{"qid": "q1", "text": "one?", "context_length": n} for n in both],
        "needle/qrels": [{"qid": "q1", "doc_id": "d1" if n == length else "d2", "context_length": n} for n in both],
    }


def test_files_with_any_signs_in_their_names_are_fetched_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a", "c#", "part@2", "part 2", "größe", "part,2", "it's (1)", "a&b", "50%25", "ab:c", "~a", "a?b", "a;b"]
    for n, name in enumerate(names):
        put(tmp_path / f"hub/corpus/{name}.jsonl", jsonl([{"_id": f"d{n}", "text": name}]))
    put(tmp_path / "hub/queries/q #1.jsonl", jsonl(QUERIES))
    put(tmp_path / "hub/qrels/test set.jsonl", jsonl(JUDGED))
    card = {"corpus": "corpus/*", "queries": "queries/*.jsonl", "qrels": [{"split": "test", "path": "qrels/test*"}]}
    configs = [{"config_name": name, "data_files": files} for name, files in card.items()]
    put(tmp_path / "hub/README.md", f"---\nconfigs: {json.dumps(configs)}\n---\n".encode())
    form, record = HubForm("z/odd", REVISION), tmp_path / "results/data/odd.json"
    with Hub({form.hub: tmp_path / "hub"}, monkeypatch, tmp_path / "cache"):
        job = Job(tmp_path / "results", "fetch_dataset/odd", "c0de")
        fetch_dataset(form=asdict(form), split="test", output_path=str(record), job=job)
    source = HubSource(record, form)
    texts = {row["_id"]: row["text"] for row in (json.loads(line) for _, line in source.lines("corpus.jsonl"))}
    assert texts == {f"d{n}": name for n, name in enumerate(names)}
    assert read_judged_queries(source, "test")[1].num_rows == 1


EXAMPLES = [
    {"id": "0", "query": "one?", "gold_ids": ["d1"], "gold_ids_long": ["N/A"], "excluded_ids": ["N/A"]},
    {"id": "a/b.json", "query": "two?", "gold_ids": ["d 2.txt", "d1"], "gold_ids_long": ["d1"], "excluded_ids": ["d3", "gone"]},
]
CONTENTS = [{"id": "d1", "content": "one"}, {"id": "d 2.txt", "content": "two"}]
BOTH_DOMAINS = {
    f"{config}/{domain}": rows
    for domain in ("biology", "pony")
    for config, rows in (("documents", CONTENTS), ("long_documents", CONTENTS), ("examples", EXAMPLES))
}
PAIR = ("3-og", "3-changed")
FOLLOWIR = {
    "corpus": [{"id": doc, "title": "", "text": doc} for doc in ("d1", "d2", "d3")],
    "queries": [{"id": query, "text": "one?", "instruction": f"for {query}"} for query in (*PAIR, "4-og")],
    "qrels": [{"query-id": query, "corpus-id": "d1", "score": n} for n, query in enumerate((*PAIR, "4-og"))]
    + [{"query-id": "3-og", "corpus-id": "d2", "score": 2}],
    "instruction": [{"query-id": query, "instruction": f"for {query}"} for query in PAIR],
    "top_ranked": [{"query-id": query, "corpus-ids": ["d2", "d1", "gone"]} for query in (*PAIR, "4-og", "unjudged")],
}
QREL_DIFF = [{"query-id": "3", "corpus-ids": ["d2"]}, {"query-id": "4", "corpus-ids": ["d1"]}]
OF_FOLLOWIR = [
    ("3-changed", "d1", 1, "3", False),
    ("3-og", "d1", 0, "3", False),
    ("3-og", "d2", 2, "3", True),
    ("4-og", "d1", 2, None, True),
]


def of_followir(form: str = "{}") -> dict[str, Rows]:
    """FollowIR as its card has it, or mFollowIR; every part has a split of another name there."""
    parts = layout(FOLLOWIR, form=form)[0] | {f"{form.format('qrel_diff')}/qrel_diff": QREL_DIFF}
    renamed = {f"{form.format(name)}/{name}": rows for name, rows in FOLLOWIR.items() if name not in ("qrels", "queries")}
    return (
        parts
        if form == "{}"
        else {key: rows for key, rows in parts.items() if key.endswith(("qrels-fas/test", "diff"))}
        | {**renamed, "queries-fas/queries": [{key: row[key] for key in ("id", "text")} for row in FOLLOWIR["queries"]]}
    )


INSTRUCTIR = layout(
    {
        "corpus": CORPUS,
        "queries": [{"_id": f"7_{n}", "text": "one?"} for n in (0, 1)],
        "qrels": [{"query-id": f"7_{n}", "corpus-id": "d1", "score": 1} for n in (0, 1)],
        "instruction": [{"query-id": f"7_{n}", "instruction": f"reader {n}"} for n in (0, 1)],
    }
)[0]

LONG_SETS = {
    f"{name}/{role}": rows
    for name in ("qmsum", "2wikimqa")
    for role, rows in {**LONG, "qrels": [{"qid": "q1", "doc_id": "d1"}]}.items()
}

NAMED = {
    "bright": (BOTH_DOMAINS, "biology", "standard", [("0", "d1", 1), ("a/b.json", "d 2.txt", 1), ("a/b.json", "d1", 1)]),
    "bright-long": (BOTH_DOMAINS, "pony", "long", [("a/b.json", "d1", 1)]),
    "longembed": (LONG_SETS, "qmsum", "test", [("q1", "d1", 1)]),
    "longembed-lengths": (of_lengths(512), "needle", "512", [("q1", "d1", 1)]),
    "cure": (
        layout(CURE, split="dentistry")[0] | layout({"queries-es": [{"_id": "q1", "text": "¿uno?"}]}, split="dentistry")[0],
        "es",
        "dentistry",
        [("q1", "d1", 1)],
    ),
    "cqadupstack-nl": (layout({**TEXTS, "test": JUDGED}, split="android")[0], None, "android", [("q1", "d1", 1)]),
    "beir-decontaminated": (
        {
            "corpus/corpus": CORPUS,
            "queries/queries": TEXTS["queries"],
            "qrels-test/test": JUDGED,
            "qrels-validation/validation": JUDGED,
        },
        None,
        "test",
        [("q1", "d1", 1)],
    ),
    "r2med": (
        {"corpus/corpus": [{"id": "d1", "text": "one"}], "query/query": [{"id": "q1", "text": "one?"}]}
        | {"qrels/qrels": [{"q_id": "q1", "p_id": "d1", "score": 1}]},
        None,
        "qrels",
        [("q1", "d1", 1)],
    ),
    "followir": (of_followir(), None, "test", OF_FOLLOWIR),
    "candidates": (layout({**PLAIN, "top_ranked": CANDIDATES}, form="math-{}")[0], "math", "test", [("q1", "d1", 1)]),
    "instructir": (INSTRUCTIR, None, "test", [(f"7_{n}", "d1", 1, "7") for n in (0, 1)]),
    "freshstack": (
        {"angular/test": NUGGETS, "angular/train": CORPUS},
        "angular",
        "test",
        [("q1", "d1", 1, [True]), ("q1", "d2", 0, [False])],
    ),
}
"""By named layout, rows by config and split, subset, split, and the judgements that are read."""


@pytest.mark.parametrize("name", NAMED)
def test_a_named_layout_is_read_and_no_other_part_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    content, subset, split, expected = NAMED[name]
    assert set(NAMED) == set(LAYOUTS_BY_NAME)
    assert judgements(tmp_path, monkeypatch, content, subset, split, name) == expected
    others = {"longembed-lengths": "1024", "cqadupstack-nl": "tex", "cure": "genetics"}
    other = others.get(name, "train" if name in ("followir", "instructir") else None)
    with pytest.raises(DataError, match=r"has no split|expected|no judgements"):
        judgements(tmp_path / "other", monkeypatch, content, subset if other else "nothing", other or split, name)


def test_the_documents_that_queries_of_bright_exclude_are_read_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judgements(tmp_path, monkeypatch, BOTH_DOMAINS, "biology", "standard", "bright")
    form = HubForm("z/collection", REVISION, "biology", layout="bright")
    queries, _ = read_judged_queries(HubSource(tmp_path / "results/data/own.json", form), "standard")
    assert queries["excluded_ids"].to_pylist() == [[], ["d3", "gone"]]
    corpus = PreparedCorpus(*(str(tmp_path / f"results/corpora/own/{name}.parquet") for name in ("documents", "queries")))
    expected = {"documents": 2, "queries": 2, "files": {}, "excluded_pairs": 3}
    prepare_corpus(
        source_path=str(tmp_path / "results/data/own.json"),
        settings=Preparation(None, "standard", 1, expected, asdict(form), relevant_from=2),
        corpus=corpus,
        job=Job(tmp_path / "results", "prepare_corpus/own", "c0de"),
    )
    record = read_json(corpus.corpus_path)
    assert (record["counts"]["excluded_pairs"], record["counts"]["excluded_without_document"]) == (2, 2)
    assert record["official"] is False  # three were expected
    assert record["relevant_from"] == relevant_from(read_table(corpus.qrels_path)) == 2
    assert read_table(corpus.queries_path)["excluded_ids"].to_pylist() == [[], ["d3", "gone"]]


def test_followir_has_instructions_candidates_and_pairs_and_a_topic_without_its_pair_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert judgements(tmp_path, monkeypatch, of_followir("{}-fas"), "fas", "test", "followir") == OF_FOLLOWIR
    source = HubSource(tmp_path / "results/data/own.json", HubForm("z/collection", REVISION, "fas", layout="followir"))
    queries, qrels = read_judged_queries(source, "test")
    assert source.assumed == {"topics_without_pair": "1 of 2, left out of p-MRR"}
    assert queries["candidate_ids"].to_pylist() == [["d2", "d1", "gone"]] * 3
    texts = dict(zip(queries["query_id"].to_pylist(), queries["text"].to_pylist(), strict=True))
    assert texts == {"3-og": "one? for 3-og", "3-changed": "one? for 3-changed", "4-og": "one?"}
    assert queries["instruction"].to_pylist() == ["for 3-changed", "for 3-og", None]
    for some, taken in ((2, {*PAIR}), (3, {*PAIR, "4-og"})):
        assert set(sampled_queries(queries, qrels, wanted=some, seed=1)[0]["query_id"].to_pylist()) == taken
    with pytest.raises(DataError, match="a topic has 2, which belong together"):
        sampled_queries(queries, qrels, wanted=1, seed=0)


WRONG: dict[str, tuple[dict[str, Rows], str]] = {
    "no pair at all": (
        {"qrel_diff/qrel_diff": [{"query-id": "4", "corpus-ids": ["d1"]}]},
        "no topic has an original and an alter",
    ),
    "changed, not judged": (
        {"qrel_diff/qrel_diff": [{"query-id": "3", "corpus-ids": ["d3"]}]},
        "names 'd3', which is not judged",
    ),
    "no candidates": ({"top_ranked/test": FOLLOWIR["top_ranked"][:2]}, "1 of 3 judged queries have no 'candidate_ids'"),
    "candidates twice": ({"top_ranked/test": FOLLOWIR["top_ranked"] * 2}, "'3-og' has candidate_ids a second time"),
    "no list": ({"top_ranked/test": [{"query-id": "3-og", "corpus-ids": "d1"}]}, "'corpus-ids' must be a list of ids"),
    "two instructions": (
        {"instruction/test": [{"query-id": "3-og", "instruction": "other"}]},
        "instruction of '3-og' is not the one",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_followir_cannot_mean_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    changes, problem = WRONG[case]
    with pytest.raises(DataError, match=problem):
        judgements(tmp_path, monkeypatch, of_followir() | changes, None, "test", "followir")


def test_freshstack_has_its_documents_in_another_dataset_and_a_title_before_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_parquet(tmp_path / "corpus/angular/train-00000-of-00001.parquet", CORPUS)
    put_parquet(tmp_path / "queries/angular/test-00000-of-00001.parquet", NUGGETS)
    form = HubForm("z/corpus", REVISION, "angular", "z/queries", REVISION, layout="freshstack")
    record = tmp_path / "results/data/own.json"
    with Hub({"z/corpus": tmp_path / "corpus", "z/queries": tmp_path / "queries"}, monkeypatch, tmp_path / "cache"):
        fetch_dataset(
            form=asdict(form), split="test", output_path=str(record), job=Job(tmp_path / "results", "fetch/own", "c0de")
        )
    source = HubSource(record, form)
    assert read_judged_queries(source, "test")[0].to_pylist() == [{"query_id": "q1", "text": "one? or two"}]
    assert [line for _, line in source.lines("corpus.jsonl")] == [b'{"_id":"d1","text":"one","title":""}']
