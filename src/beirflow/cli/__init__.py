"""The command ``beirflow``."""
