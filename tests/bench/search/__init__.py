"""Stage `search`: the top k of many vectors."""
