"""Lexical retrieval in languages other than English: the terms of Lucene's analyzers."""

from pathlib import Path

from beirflow.core.extensions import Analysis, Extension
from beirflow.extensions.languages.names import ANALYZERS, REFUSED, SNOWBALL, SNOWBALL_VERSION

_INSTEAD = "none is here. State another analyzer, such as lucene-yoruba, which cuts at white space"
_STEMMER = {"PyStemmer": SNOWBALL_VERSION}
_HERE = {
    name: Analysis("beirflow.extensions.languages.chains:analyzer", _STEMMER if name in SNOWBALL else {}) for name in ANALYZERS
}

EXTENSION = Extension(
    folder=Path(__file__).parent,
    analyzers=_HERE | {name: Analysis(problem=f"{reason}; {_INSTEAD}") for name, reason in REFUSED.items()},
)
