"""beirflow: exact, resumable, checkable evaluation of retrieval systems on BEIR."""

from pathlib import Path

WORKFLOW = Path(__file__).parent / "workflow"
"""The folder of the workflow: rules, catalogue, schemas, templates and profiles."""
