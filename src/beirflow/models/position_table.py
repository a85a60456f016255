"""The length of texts that a model can read, by its table of positions, without loading the model."""

from pathlib import Path

from safetensors import SafetensorError, safe_open

from beirflow.core.errors import ModelError
from beirflow.models.model_layout import module_folders, module_weight_files
from beirflow.models.model_places import local_folder
from beirflow.models.settings import ModelSettings

TABLES = ("position_embeddings.weight", "wpe.weight")  # endings of the names of tables of positions, in most models and in GPT-2


def length_problem(settings: ModelSettings, max_length: int | None) -> str | None:
    """Return why a model in a folder cannot read texts of ``max_length`` tokens; None if it can, or if only the weights tell.

    The job that loads the model checks the rest, such as positions that some models reserve.
    """
    folder = local_folder(settings)
    if max_length is None or settings.encoder or folder is None:
        return None
    try:
        files = [path for here in module_folders(folder) for path in module_weight_files(here, settings, root=folder)]
    except ModelError:  # said of the model
        return None
    rows = max((_table_rows(path) for path in files if path.suffix == ".safetensors"), default=0)
    return f"the model reads at most {rows} tokens; lower it" if 0 < rows < max_length else None


def _table_rows(path: Path) -> int:
    """Return the number of rows of the table of positions in a file of safetensors; 0 without one, or if it cannot be read."""
    try:
        with safe_open(path, framework="numpy") as file:
            return max((file.get_slice(name).get_shape()[0] for name in file.keys() if name.endswith(TABLES)), default=0)  # noqa: SIM118
    except (OSError, SafetensorError):  # said by the job that loads it
        return 0
