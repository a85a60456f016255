"""What the paper looks at beyond scores: queries shown, first hits, lengths of documents."""
