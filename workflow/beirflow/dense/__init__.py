"""Family dense: one vector a text, compared by dot product or cosine, searched exactly."""
