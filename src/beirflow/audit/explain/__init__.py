"""Why results differ from published ones."""
