"""Family dense: one vector per text, compared by dot product or cosine, searched exactly."""
