"""Parity of a server of embeddings with the weights that it serves: the command ``beirflow parity``."""

from pathlib import Path

from beirflow.core.extensions import Command, Extension

EXTENSION = Extension(folder=Path(__file__).parent, commands={"parity": Command(f"{__name__}.commands.parity")})
