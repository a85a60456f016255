"""What lexical and sparse systems share: columns of several lengths on disk, and the exact search of scored lists."""
