"""The paths of the files of a training below the results."""

from beirflow.core.patterns import Pattern

TRAINED_FILE = Pattern("models/{system}/{dataset}/{file}")
TRAINED_MODULE_FILE = Pattern("models/{system}/{dataset}/{module}/{file}")
TRAINING_CHECKPOINT = Pattern("models/{system}/{dataset}.pt")  # the checkpoint from which an interrupted training resumes
