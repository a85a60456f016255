"""The audit of results of an unknown sender: all checks in their order, the verdict, and the page."""
