"""The length of texts that a model can read, by its table of positions, without loading the model."""

from pathlib import Path

from beirflow.files.errors import ModelError
from beirflow.files.outside_json import parse_json
from beirflow.models.model_layout import module_folders, module_weight_files
from beirflow.models.model_places import local_folder
from beirflow.models.settings import ModelSettings

TABLES = ("position_embeddings.weight", "wpe.weight")  # endings of the names of tables of positions, in most models and in GPT-2

MOST_HEADER_BYTES = 100_000_000  # maximum size of a header; that of safetensors itself


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
        with path.open("rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            header = parse_json(stream.read(size)) if size <= MOST_HEADER_BYTES else {}
        return max((int(tensor["shape"][0]) for name, tensor in header.items() if name.endswith(TABLES)), default=0)
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError):  # said by the job that loads it
        return 0
