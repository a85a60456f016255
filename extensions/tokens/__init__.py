"""The tokens that the models of a configuration read of a text: the command ``beirflow tokens``."""

from pathlib import Path

from beirflow.core.extensions import Command, Extension

EXTENSION = Extension(folder=Path(__file__).parent, commands={"tokens": Command(f"{__name__}.command")})
