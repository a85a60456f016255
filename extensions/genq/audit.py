"""Comparisons of an audit of trained models: of their records, and of the recipe in their files."""

from collections.abc import Mapping, Sequence
from typing import Any

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.reading import part
from beirflow.audit.facts.outside import CARDS, Here, Names, Outside, files_here
from beirflow.audit.facts.relations import SKIPPED, Place, Row, computed, in_path, setting
from beirflow.core import layout
from beirflow.core.patterns import Pattern
from beirflow.models.card_files import read_card


def _files_of_training(place: Place) -> dict[str, Any]:
    """Return the digests of the files of a trained model, by their names in its folder."""
    folder = f"{layout.MODEL_OF_DATASET(**place.names)}/"
    return {name.removeprefix(folder): digest for name, digest in part(place.record, "outputs", kind=dict).items()}


def _pairs_of_epochs(place: Place, pairs: int) -> int:
    """Return the pairs of all epochs, of which batches have all but those that are left out."""
    return int(part(place.record, "train", "epochs", kind=int) * pairs)


def _pairs_of_batches(place: Place) -> int:
    """Return the pairs of all batches of a training, and those that were left out."""
    counts = part(place.record, "counts", kind=dict)
    return int(part(place.record, "train", "batch", kind=int) * counts["training_steps"] + counts["pairs_left_out"])


def _seconds_of_writing(place: Place) -> Any:
    """Return the seconds in which the queries of a training were written."""
    written = [place.chain.records.get(name) for name in place.named(layout.EXPANSION_RECORD)]
    return sum(sum(each["seconds"].values()) for each in written if each) if written and all(written) else SKIPPED


def _trained_card(chain: Chain, names: Names) -> Here | str:
    """Read the recipe of a trained model, whose files are among the results."""
    folder = layout.MODEL_OF_DATASET(**names)
    paths = [path for path in (*chain.listing.files, *chain.listing.odd) if f"{path}/".startswith(f"{folder}/")]
    if not paths:
        return f"{folder} is not here"
    for path in paths:
        chain.file(path)  # no link is followed
    return files_here(names["system"], folder, lambda: read_card(chain.folder / folder).as_json())


RECORDED: Mapping[Pattern, Sequence[Row]] = {
    layout.MODEL_OF_DATASET_RECORD: (
        Row("system", in_path("system")),
        *(Row(key, setting(key)) for key in ("model", "revision", "train")),
        Row("files", computed(_files_of_training, "its outputs")),
        Row("counts/training_pairs", computed(_pairs_of_batches, "its batches", _pairs_of_epochs)),
        Row("seconds/expand", computed(_seconds_of_writing, "the queries that were written")),
    ),
}

OUTSIDE = (
    Outside(CARDS, layout.MODEL_OF_DATASET_RECORD, "card", _trained_card),
    # To make the weights again would take as long as the training.
    Outside(
        "trained models are what their training gives",
        layout.MODEL_OF_DATASET_RECORD,
        "outputs",
        lambda chain, names: f"the training of {names['system']} on {names['dataset']} was not made again",
        "",
    ),
)
