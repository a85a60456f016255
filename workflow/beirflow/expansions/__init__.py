"""What models add to documents before they are indexed: queries that they write, weights that they give to words."""
