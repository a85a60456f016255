"""The audit: all checks in their order, the verdict, and the page."""
