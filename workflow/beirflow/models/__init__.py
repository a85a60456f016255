"""What a model is: its settings, its files, where they lie, and what they say."""
