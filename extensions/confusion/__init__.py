"""The confusion matrix of retrieval at every cutoff: ``confusion.csv``."""

from pathlib import Path

from beirflow.core.extensions import Extension
from beirflow.core.patterns import Derived

CONFUSION = Derived("confusion.csv", "TP, FP, FN, TN and accuracy for every cutoff")

EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=(CONFUSION,),
)
