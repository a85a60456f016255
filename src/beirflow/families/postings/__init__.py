"""Shared by lexical and sparse systems: text analysis, columns of several lengths on disk, the exact search of scored lists."""
