"""Settings of systems, as the manifest states them."""

from typing import Any

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.reading import part
from beirflow.expansions.settings import Expansion
from beirflow.models.settings import ONNX


def settings_of(chain: Chain, system: str) -> Any:
    """Return the settings of a system of a known family."""
    return chain.setup.system_as_stated(system, part(chain.manifest, "systems", system, kind=dict)).settings


def settings_on(chain: Chain, system: str, dataset: str) -> Any:
    """Return the settings of a system, whose family must be known, as they are for one corpus."""
    family = chain.setup.families[part(chain.manifest, "systems", system, "family", kind=str)]
    return family.for_dataset(settings_of(chain, system), *chain.whole(dataset))


def added_by(chain: Chain, system: str) -> Expansion | None:
    """Return the addition of a system to documents; None without one or if the family is unknown."""
    recorded = part(chain.manifest, "systems", system, kind=dict)
    family = chain.setup.families.get(str(recorded.get("family")))
    added: Expansion | None = family.added(settings_of(chain, system)) if family else None
    return added


def first_stages(chain: Chain, system: str) -> list[str]:
    """Return the systems whose runs a system is made from, in the order of its settings; none if its family is unknown."""
    family = chain.setup.families.get(str(chain.manifest["systems"].get(system, {}).get("family")))
    reads = family.reads(settings_of(chain, system)) if family else None
    return list(reads.systems.values()) if reads and not reads.compared else []


def configured_precision(chain: Chain, system: str) -> str | None:
    """Return the precision that the configuration asks of a system, or of the one whose vectors or runs it uses.

    None stands for what the machine, an ONNX graph or a class of the user's own decides.
    """
    configured = chain.manifest["configuration"]["precision"]
    return None if configured == "auto" or _has_own_precision(chain, system) else configured


def _has_own_precision(chain: Chain, name: str) -> bool:
    system = chain.manifest["systems"].get(name, {})
    settings, family = system.get("settings", {}), chain.setup.families.get(str(system.get("family")))
    reads = family.reads(settings_of(chain, name)).systems.values() if family else ()
    others = [settings.get("variant_of"), *reads]
    own = bool(settings.get("encoder")) or str(settings.get("weights", "")).endswith(ONNX)
    return own or any(_has_own_precision(chain, other) for other in others if other)
