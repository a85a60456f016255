"""The vocabulary of the tiny models, apart from them: to import them takes seconds, for torch and transformers."""

WORDS = [f"w{i}" for i in range(200)]
"""Words of which texts are made; each is one token of the tiny models, to which any other word is [UNK]."""
