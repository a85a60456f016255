"""Stage `weigh`: a SPLADE weighs the terms of documents."""
