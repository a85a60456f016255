"""Names of the analyzers of Lucene by language, and why some are not here."""

LANGUAGES = "arabic bengali chinese dutch finnish french german hindi indonesian persian russian spanish swahili telugu yoruba"
ANALYZERS = tuple(f"lucene-{language}" for language in LANGUAGES.split())
"""Analyzers whose terms are those of Lucene 9; another one, or a change of the terms, needs another name."""

REFUSED = {
    "lucene-japanese": "Lucene cuts Japanese into words by a dictionary (Kuromoji)",
    "lucene-korean": "Lucene cuts Korean into words by a dictionary (Nori)",
    "lucene-polish": "Lucene stems Polish by tables (Stempel), and Anserini by a dictionary (Morfologik)",
    "lucene-thai": "Lucene cuts Thai into words by the dictionary of Java",
}
"""Analyzers that are not here, and why."""

SNOWBALL = ("lucene-dutch", "lucene-finnish", "lucene-russian")
"""Analyzers whose stems are PyStemmer's."""

SNOWBALL_VERSION = "2.2.0.3"
"""PyStemmer whose stems are those of Lucene 9; 3.0 and later stem Finnish and Dutch in another way."""
