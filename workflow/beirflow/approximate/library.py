"""The library that computes approximate indexes, an optional requirement."""

from typing import Any

from beirflow.files.errors import ConfigError


def faiss_library() -> Any:
    """Import faiss.

    Returns:
        The module.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        import faiss
    except ImportError as error:
        raise ConfigError(
            f"an approximate index is computed by faiss, which is not installed here ({error}); install it with:"
            " pip install --requirement envs/requirements-faiss.txt, or remove the approximate systems"
        ) from error
    return faiss
