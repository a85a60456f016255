"""Were systems tuned on the data in their settings, and did the best weights win?"""

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import Check
from beirflow.audit.chain.facts import Comparison
from beirflow.audit.chain.reading import part
from beirflow.files.layout import MANIFEST, RUN_RECORD
from beirflow.runs.family import Family, TunedOn

KEY = "tuned"  # of the record of a run


def check_tuned(chain: Chain) -> list[Check]:
    """Compare what records say of tuning with the settings in the manifest."""
    facts = Comparison(chain, "systems are tuned on other queries")
    for system, dataset in chain.runs:
        entry = part(chain.manifest, "systems", kind=dict).get(system, {})
        family, path = chain.setup.families.get(str(entry.get("family"))), RUN_RECORD(system=system, dataset=dataset)
        if family is None or type(family).tuned_on is Family.tuned_on:
            continue
        if how := family.tuned_on(family.settings(**part(entry, "settings", kind=dict))):
            facts.each([path], lambda facts, path, how=how, dataset=dataset: _check(facts, path, how, dataset))  # type: ignore[misc]
    return facts.finished()


def _check(facts: Comparison, path: str, how: TunedOn, dataset: str) -> None:
    """The corpus is the one that is named, and not the one that is evaluated; the best was chosen."""
    chain, tuned = facts.chain, part(facts.chain.record(path), KEY, kind=dict)
    on = part(chain.corpora, part(tuned, "on", kind=str), kind=dict)
    evaluated = part(chain.corpora, dataset, kind=dict)
    whole, other = (chain.whole(corpus["name"]) for corpus in (evaluated, on))
    if how.split is None:
        facts.same(path, f"{KEY} / on", on["name"], how.dataset, MANIFEST)
    else:
        facts.same(path, f"{KEY} / on, dataset and split", [*other, on["split"]], [*whole, how.split], MANIFEST, f"{KEY}/on")
    same = (other, on["split"]) == (whole, evaluated["split"])
    facts.same(path, f"{KEY} / on, the queries that are evaluated", same, False, "what tuning may be done on")
    grid = {
        tuple(part(point, "weights", kind=list)): part(point, "score", kind=float) for point in part(tuned, "grid", kind=list)
    }
    chosen = grid.get(tuple(part(tuned, "chosen", kind=list)))
    facts.same(path, f"{KEY} / score of the weights that were chosen", chosen, max(grid.values()), "its grid", f"{KEY}/chosen")
