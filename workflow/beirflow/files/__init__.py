"""How results are written and read: layout, atomic writing, digests, records, progress, and what a disk refuses."""
