"""From the settings of a system to its encoder."""

from beirflow.data.document_text import Kind
from beirflow.models.encoders.encoder import Encoder, TransformersEncoder
from beirflow.models.encoders.own_encoder import OwnEncoder
from beirflow.models.model_places import model_folder, towers
from beirflow.models.settings import EncoderSettings


def load_encoder(settings: EncoderSettings, kind: Kind, *, device: str, precision: str, token_budget: int | str) -> Encoder:
    """Load the encoder of one kind of text from the settings of a system.

    Device, precision and budget are as in ``TransformersEncoder``; a class of the user's own has
    its own. Raises ModelError for a model that is missing, cannot be loaded, or is not understood.
    """
    if settings.encoder:
        return OwnEncoder(settings, kind)
    tower = towers(settings)[-1 if kind == "queries" else 0]
    folder = model_folder(tower)
    return TransformersEncoder(tower, folder, device=device, precision=precision, token_budget=token_budget, kind=kind)
