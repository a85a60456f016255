"""The family of runs that were made elsewhere: read, checked, and from then on like any other."""
