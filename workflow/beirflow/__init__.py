"""beirflow: exact, resumable, checkable evaluation of retrieval systems on BEIR."""
