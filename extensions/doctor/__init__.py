"""What of a machine may keep a run from working: the command ``beirflow doctor``."""

from pathlib import Path

from beirflow.core.extensions import Command, Extension

EXTENSION = Extension(folder=Path(__file__).parent, commands={"doctor": Command(f"{__name__}.command")})
