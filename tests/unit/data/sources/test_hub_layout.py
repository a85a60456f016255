"""Files of a dataset on a hub that are read."""

import itertools
import json
import re
import time
from pathlib import Path

import pytest

from beirflow.core.errors import DataError
from beirflow.data.sources.forms import ROLES
from beirflow.data.sources.hub_layout import files_of, matching
from hub_datasets import CARD, beir, languages, mteb, nano
from refusals import refused


def names_in(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]


def found(names: list[str], card: str = "", subset: str | None = None, split: str = "test") -> dict[str, list[str]]:
    return {role: files_of(role, names, card, subset=subset, split=split, where="x/y") for role in ROLES}


def corpus_of(names: list[str], front: str, split: str = "test") -> list[str]:
    """The files of the corpus, from a card with this front matter."""
    return files_of("corpus", names, f"---\n{front}\n---\n", subset=None, split=split, where="x/y at z")


def test_the_layouts_of_nanobeir_mteb_and_beir_are_known_by_their_names(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'qrels' has no split 'test', it has train; name one in 'split'"):
        found(names_in(nano(tmp_path / "nano")))
    assert found(names_in(tmp_path / "nano"), split="train") == {
        "corpus": ["corpus/train-00000-of-00002.parquet", "corpus/train-00001-of-00002.parquet"],
        "queries": ["queries/train-00000-of-00001.parquet"],
        "qrels": ["qrels/train-00000-of-00001.parquet"],
    }
    expected = {"corpus": ["corpus.jsonl"], "queries": ["queries.jsonl"], "qrels": ["qrels/test.jsonl"]}
    assert found(names_in(mteb(tmp_path / "mteb"))) == found(names_in(tmp_path / "mteb"), CARD) == expected
    texts, qrels = map(names_in, beir(tmp_path / "beir"))
    assert files_of("corpus", texts, "", subset=None, split="test", where="x/y") == ["corpus.jsonl.gz"]
    assert files_of("qrels", qrels, "", subset=None, split="test", where="x/y") == ["test.tsv"]


def test_a_language_is_a_subset_and_datasets_that_share_a_repository_are_splits_of_it(tmp_path: Path) -> None:
    names = names_in(languages(tmp_path))
    assert found(names, subset="fr")["corpus"] == ["fr-corpus/test-00000-of-00001.parquet"]
    behind = [name.replace("fr-corpus", "corpus-fr") for name in names]
    assert found(behind, subset="fr")["corpus"] == ["corpus-fr/test-00000-of-00001.parquet"]
    names = [f"{role}/{name}-00000-of-00001.parquet" for role in ROLES for name in ("NanoNQ", "NanoSciFact")]
    assert found(names, split="NanoNQ")["corpus"] == ["corpus/NanoNQ-00000-of-00001.parquet"]


@pytest.mark.parametrize(
    ("data_files", "expected"),
    [
        ('"docs/*.parquet"', ["docs/a.parquet", "docs/b.parquet"]),
        ("[docs/a.parquet, corpus/other.parquet, docs/a.parquet, 'corpus/*']", ["corpus/other.parquet", "docs/a.parquet"]),
        ('[{split: test, path: ["./docs/?.parquet"]}]', ["docs/a.parquet", "docs/b.parquet"]),
        ('[{split: test, path: "**/c.parquet"}]', ["docs/deep/c.parquet"]),
        ('[{split: test, path: "docs/**"}]', ["docs/a.parquet", "docs/b.parquet", "docs/deep/c.parquet"]),
        ('[{split: test, path: "deep/*"}]\n  data_dir: docs', ["docs/deep/c.parquet"]),
    ],
)
def test_the_card_names_files_in_every_way_that_hubs_know(data_files: str, expected: list[str]) -> None:
    names = ["docs/a.parquet", "docs/b.parquet", "docs/deep/c.parquet", "corpus/other.parquet"]
    assert corpus_of(names, f"configs:\n- config_name: corpus\n  data_files: {data_files}") == expected


@pytest.mark.parametrize(
    ("names", "front", "parts"),
    [
        (["a.bin"], "", ["expected corpus in it, found nothing", "this layout is not read"]),
        (["de-corpus/test.parquet"], "", ["found de-corpus", "'subset'"]),
        (["corpus/a.parquet", "corpus/b.parquet"], "", ["'corpus' has no split 'test', it has a, b", "'split'"]),
        (["corpus.jsonl", "top_ranked/test.parquet"], "", ["not a plain retrieval dataset", "'top_ranked'", "reranked"]),
        (["../corpus/test.parquet", "corpus/$(x)/test.parquet", "corpus/.test.parquet"], "", ["found nothing"]),
        (["corpus.jsonl"], "a: [", ["README.md is not YAML"]),
    ],
)
def test_what_is_no_dataset_for_retrieval_is_refused_with_what_is_there(names: list[str], front: str, parts: list[str]) -> None:
    with refused(DataError, "x/y at z: ", *parts):
        corpus_of(names, front)


def test_hidden_files_and_folders_are_read_only_where_they_are_named() -> None:
    names = ["corpus/a.jsonl", "corpus/größe (1).jsonl"]
    front = "configs:\n- config_name: corpus\n  data_files: '**/*.jsonl'"
    assert corpus_of([*names, "corpus/.hidden.jsonl", "corpus/__cache/b.jsonl", ".git/c.jsonl"], front) == names


@pytest.mark.parametrize("name", ["../b.jsonl", "/etc/b.jsonl", "a\\b.jsonl", "a\x1b[2Jb.jsonl", "a//b.jsonl", "a:b.jsonl"])
def test_a_file_that_a_card_names_and_whose_name_may_lead_elsewhere_is_refused(name: str) -> None:
    front = f"configs:\n- config_name: corpus\n  data_files: [corpus.jsonl, {json.dumps(name)}]"
    with refused(DataError, "x/y at z: the file", "that name is not read", "BEIR form"):
        corpus_of(["corpus.jsonl", name], front)


def parts(*numbers: int, count: int = 3, end: str = ".parquet") -> list[str]:
    return [f"corpus/test-{number:05}-of-{count:05}{end}" for number in numbers]


@pytest.mark.parametrize(
    "front", ["", "configs:\n- config_name: corpus\n  data_files: [{split: test, path: 'corpus/test-*.*[tl]'}]"]
)
def test_all_the_parts_that_names_count_are_there_or_the_missing_one_is_named(front: str) -> None:
    for whole in (parts(0, 1, 2), parts(1, 2, 3), [*parts(0), *parts(1, 2, end=".jsonl")]):
        assert corpus_of(whole, front) == sorted(whole)
    for some, missing in (((0, 2), 1), ((0, 1), 2), ((1, 2), 3), ((2,), 1), ((0, 1, 3), 2)):
        with refused(DataError, f"is one of 3 parts, but {len(some)} would be read, without corpus/test-{missing:05}-of-00003. "):
            corpus_of(parts(*some), front)
    [other] = parts(2, end=".jsonl.zst")
    reason = "its format is not read" if front else "without corpus/test-00002-of-00003; "
    with refused(DataError, other, reason):
        corpus_of([*parts(0, 1), other], front)
    with refused(DataError, "is one of 3 parts, but 4 would be read. Name a revision"):
        corpus_of(parts(0, 1, 2, 3), front)
    with refused(DataError, "without corpus/test-00003-of-999999999"):
        corpus_of([f"corpus/test-{number:05}-of-999999999.jsonl" for number in range(3)], front)


@pytest.mark.parametrize(
    ("files", "other"),
    [
        (["corpus/a.jsonl"], "corpus/b.jsonl.zst"),
        (["corpus/a.jsonl"], "corpus/more/b.jsonl"),
        (["corpus/test.jsonl", "corpus/train.jsonl"], "corpus/test.part 2.jsonl"),
        (["corpus.jsonl"], "corpus-2.jsonl"),
        (["corpus.jsonl"], "corpus_part_002.parquet"),
    ],
)
def test_a_file_that_may_be_a_part_and_would_not_be_read_is_refused_without_a_card(files: list[str], other: str) -> None:
    with refused(DataError, f"{files[0]} is read, but {other} may belong to it too", "BEIR form"):
        corpus_of([*files, other], "")


def test_other_files_beside_those_that_are_read_change_nothing() -> None:
    others = [
        "corpus/README.md",
        "corpus/LICENSE",
        "corpus/dataset_info.json",
        "corpus/.gitkeep",
        "corpus/a.csv",
        "corpus-fr/b.jsonl",
    ]
    assert corpus_of(["corpus/a.jsonl", *others, "queries.jsonl", "notes-2.jsonl"], "") == ["corpus/a.jsonl"]
    assert corpus_of(["corpus.jsonl", "corpus.csv", "corpus_small.jsonl", "data/corpus-2.jsonl", "README.md"], "") == [
        "corpus.jsonl"
    ]
    judged = ["qrels/test.tsv", "qrels/train.tsv", "qrels/dev.csv", "qrels/test_2019.md"]
    assert files_of("qrels", judged, "", subset=None, split="test", where="x/y") == ["qrels/test.tsv"]
    with refused(DataError, "qrels/test.tsv is read, but qrels/test-2.csv may belong to it too"):
        files_of("qrels", [*judged, "qrels/test-2.csv"], "", subset=None, split="test", where="x/y")


BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10))
MANY = f"p: &p [{'a,' * 1_000}]\ne: &e {{split: test, path: *p}}\n"


@pytest.mark.parametrize(
    ("front", "message"),
    [
        ("data_files: '" + "**/" * 300 + "x'", "no file of the dataset"),
        ("data_files: '" + "*a" * 400 + "x'", "no file of the dataset"),
        ("data_files: '" + "*a" * 600 + "x'", "a pattern of 1,201 characters"),
        ("data_files: [" + "'*', " * 101 + "]", "more than 10,000 files, or 100 patterns"),
        ("data_files: 'corpus/**.jsonl'", "** is not a whole component"),
        ("data_files: 'corpus/none.jsonl'", "'corpus/none.jsonl', but no file"),
        ("data_files: ['corpus.jsonl', '../corpus.jsonl']", "'../corpus.jsonl', but no file"),
        ("data_files: [{split: *a9, path: corpus.jsonl}]", "must hold texts"),
        ("data_files: [{split: [" + "[" * 50_000, "is not YAML"),
        ("data_files: [" + "*e," * 1_000 + "]", "more than 10,000 files"),
        ("data_files: " + "x" * (1 << 21), "has 2,"),
    ],
)
def test_a_hostile_card_is_refused_in_a_moment(front: str, message: str) -> None:
    names = ["corpus.jsonl", "a/" * 100 + "b", "a" * 240]
    begun = time.process_time()
    with pytest.raises(DataError, match=re.escape(message)):
        corpus_of(names, f"{BOMB}{MANY}configs:\n- config_name: corpus\n  {front}")
    assert time.process_time() - begun < 10


PATHS = ["/".join(parts) for count in (1, 2, 3) for parts in itertools.product(("a", "ab", "b.x"), repeat=count)]
COMPONENTS = ("**", "*", "a*", "*b*", "?", "[ab]", "ab", "*.x")


def test_patterns_match_what_they_match_on_a_hub() -> None:
    utils = pytest.importorskip("fsspec.utils")
    for count in (1, 2, 3):
        for parts in itertools.product(COMPONENTS, repeat=count):
            pattern = "/".join(parts)
            expression = re.compile(utils.glob_translate(pattern))
            assert matching(pattern, PATHS) == [path for path in PATHS if expression.fullmatch(path)], pattern
    with pytest.raises(ValueError, match="is not a whole component"):
        matching("a**/b", ["a/b"])
    with pytest.raises(ValueError, match="entire path component"):
        utils.glob_translate("a**/b")
