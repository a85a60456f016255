"""Reasons why an encoder cannot be trained, as far as files on disk show."""

from pathlib import Path

from beirflow.core.errors import ModelError
from beirflow.extensions.genq.settings import Training
from beirflow.families.expansions.models import model_problem
from beirflow.families.system import Setting
from beirflow.models.card_files import read_card
from beirflow.models.model_places import local_folder
from beirflow.models.settings import ONNX, EncoderSettings

NOT_TRAINED = "only a single torch transformer for queries and documents can be trained"


def training_problem(base: EncoderSettings, training: Training) -> Setting | None:
    """Return the setting that prevents the training of an encoder, as ``base``; None if it can be trained."""
    if problem := model_problem(training.added):
        return Setting("train.generator.model", training.generator["model"], problem)
    if base.encoder:
        return Setting("base", base.encoder, f"this is a class of your own; {NOT_TRAINED}")
    if base.weights.endswith(ONNX):
        return Setting("base", base.weights, f"this is an ONNX graph; {NOT_TRAINED}")
    if base.query_model:
        return Setting("base", base.query_model, f"queries have a model of their own; {NOT_TRAINED}")
    folder = local_folder(base)
    problem = card_problem(folder) if folder is not None and folder.is_dir() else None
    return Setting("base", base.model, problem) if problem else None


def card_problem(folder: Path) -> str | None:
    """Return, in a sentence, why the files of a model prevent its training; None if they do not.

    Also None if they cannot be read, which the checks of encoders report.
    """
    try:
        steps = read_card(folder).steps
    except ModelError:
        return None
    firsts = sorted({(each[0].kind, each[0].folder) for each in steps.values()})
    if [kind for kind, _ in firsts] == ["transformer"]:
        return None
    return f"its files have {' and '.join(' '.join(filter(None, first)) for first in firsts)}; {NOT_TRAINED}"
