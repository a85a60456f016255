"""The command ``beirflow doctor``: it finds what may keep a run from working on this machine."""

from pathlib import Path

from beirflow.core.extensions import Command, Extension

EXTENSION = Extension(folder=Path(__file__).parent, commands={"doctor": Command(f"{__name__}.command")})
