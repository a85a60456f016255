"""Do the models and files behind expansions still match their records?"""

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check, unique
from beirflow.audit.chain.reading import part, read_rows
from beirflow.audit.chain.setup import Setup
from beirflow.audit.facts.corpora import DIGEST, Corpora
from beirflow.audit.facts.sources import REPAIR, TODO, check_model
from beirflow.audit.facts.stated import added_by
from beirflow.expansions.files import COLUMNS
from beirflow.expansions.given import given_values
from beirflow.expansions.models import expansion_digests
from beirflow.expansions.settings import Expansion
from beirflow.files.digests import file_digest
from beirflow.files.layout import CORPUS, EXPANSION, EXPANSION_MODEL, EXPANSION_RECORD, MANIFEST, SUMMARY
from beirflow.runs.searched import EXPANSION_SOURCE

FILES = "expansions are those of their files"


def check_expansions(chain: Chain, setup: Setup, corpora: Corpora) -> list[Check]:
    """Compare models and files of expansions, where they are here, with what was recorded of them."""
    here, said = _here(chain, setup), _said(chain)
    models = {path: found["expansion"] for path in sorted(chain.claims) if (found := EXPANSION_MODEL.names_in(path))}
    return [
        *(_check_model(chain, path, name, here) for path, name in models.items()),
        *_check_files(chain, here, said, setup, corpora),
    ]


def _said(chain: Chain) -> dict[str, Expansion]:
    """By the name that an expansion has in the results, what the manifest says of it."""
    return {added.name: added for added in map(partial(added_by, chain), chain.manifest["systems"]) if added}


def _here(chain: Chain, setup: Setup) -> dict[str, Expansion]:
    """The same, by the configuration of the person who audits."""
    found = {}
    for name in part(chain.manifest, "systems", kind=dict):
        known, added = setup.systems.get(name), added_by(chain, name)
        if known and added and (own := setup.families[known.family].added(known.settings)):
            found[added.name] = own
    return found


def _check_model(chain: Chain, path: str, name: str, here: dict[str, Expansion]) -> Check:
    """The files of a model are those that were used."""
    added = here.get(name)
    return check_model(chain, path, name, str(added.model) if added else None, lambda: expansion_digests(here[name]))


def _check_files(
    chain: Chain, here: dict[str, Expansion], said: dict[str, Expansion], setup: Setup, corpora: Corpora
) -> Iterator[Check]:
    """The files of expansions that were made elsewhere are those that were read, and hold what was taken from them."""
    digests: dict[Path, str] = {}
    named = [names for path in sorted(chain.claims) if (names := EXPANSION_RECORD.names_in(path))]
    for name, dataset in dict.fromkeys((names["expansion"], names["dataset"]) for names in named):
        paths = [EXPANSION_RECORD(**names) for names in named if (names["expansion"], names["dataset"]) == (name, dataset)]
        paths = [path for path in paths if chain.records.get(path)]
        given = [path for path in paths if EXPANSION_SOURCE in chain.records[path]]
        results = unique(result for path in paths for result in chain.results[path])
        if name in said and given != (paths if said[name].path else []):
            found = f"{len(given)} of {len(paths)} records of {name} on {dataset} name a file that they were read from"
            expected = f"all, since {MANIFEST} says {said[name].path}" if said[name].path else f"none, by {MANIFEST}"
            yield Check(FILES, FAILED, found, expected, tuple(paths), results, chain.repair_command(*paths))
            continue
        if not given:
            continue
        recorded = {path: chain.records[path][EXPANSION_SOURCE] for path in given}
        other = next((path for path in given if recorded[path] != recorded[given[0]]), None)
        if other:
            found = f"{other} was read from a file with the sha256 {recorded[other]}"
            expected = f"{recorded[given[0]]}, as {given[0]} says"
            yield Check(FILES, FAILED, found, expected, tuple(given), results, chain.repair_command(*given))
            continue
        added, corpus = here.get(name), setup.datasets.get(dataset)
        source = added.file(corpus.whole_name if corpus else dataset) if added else None
        if added is None or source is None or not source.is_file():
            found = f"the file of {name} on {dataset} is not here"
            yield Check(FILES, NOT_CHECKED, found, "", tuple(given), results, TODO)
            continue
        digests[source] = digests.get(source) or file_digest(source)
        found, repair = f"{source} has the sha256 {digests[source]}", REPAIR.format(again=chain.again(SUMMARY))
        if recorded[given[0]] != digests[source]:
            yield Check(FILES, FAILED, found, f"{given[0]} says {recorded[given[0]]}", tuple(given), results, repair)
        else:
            yield _check_content(chain, name, dataset, added.kind, source, corpora)


def _check_content(chain: Chain, name: str, dataset: str, kind: str, source: Path, corpora: Corpora) -> Check:
    """Check that a file has the additions to every document."""
    chunks = range(part(chain.record(CORPUS(dataset=dataset)), "chunks", kind=int))
    paths = tuple(EXPANSION(expansion=name, dataset=dataset, chunk=chunk) for chunk in chunks)
    results = unique(result for path in paths for result in chain.results.get(path, ()))
    try:
        ids = corpora[dataset].ids
        expected = np.zeros((len(ids), DIGEST), np.uint8)
        for place, value in given_values(str(source), kind, ids):
            columns = [list(value), list(value.values())] if isinstance(value, dict) else [value]
            expected[place] = np.frombuffer(_digest(columns), np.uint8)
        row = 0
        for path in paths:
            for doc_id, *values in read_rows(chain.file(path), path, COLUMNS[kind].names):
                if row >= len(ids) or doc_id != ids[row].as_py() or expected[row].tobytes() != _digest(values):
                    problem = f"{path} adds to {doc_id!r} what {source} does not"
                    return chain.failed(FILES, path, problem, "what the file says", results)
                row += 1
    except UNREADABLE as error:
        return chain.unreadable(FILES, paths[0], error, results)
    if row != len(ids):
        return Check(FILES, FAILED, f"{row:,} documents of {name}", f"{len(ids):,}", paths, results, chain.repair_command(*paths))
    return Check(FILES, PASSED, f"{name}: what {source} adds to {row:,} documents of {dataset}", files=paths)


def _digest(values: list[Any]) -> bytes:
    """Of what is added to a document, with weights as the numbers that are stored."""
    texts = [[float(each) if isinstance(each, int) else each for each in column] for column in values]
    return hashlib.blake2b(repr(texts).encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()
