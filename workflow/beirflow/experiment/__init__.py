"""The configuration joined with the catalogue, as the rules see it, and the manifest of what was run."""
