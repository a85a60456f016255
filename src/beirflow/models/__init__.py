"""Models: their settings, files, places, and the facts that the files state."""
