"""Shared by lexical and sparse systems: columns of several lengths on disk, and the exact search of scored lists."""
