"""Settings of approximate systems beside a dense one."""

HNSW = {"approximate": "second", "index": "hnsw", "m": 4, "ef_construction": 20, "ef_search": [6, 12]}
IVF_FLAT = {"approximate": "second", "index": "ivf-flat", "nlist": 4, "nprobe": 2}
IVF_PQ = {"approximate": "second", "index": "ivf-pq", "nlist": 3, "m": 8, "bits": 3, "nprobe": 2}
SQ = {"approximate": "second", "index": "sq", "bits": 4}
SIGNS = {"approximate": "second", "index": "binary", "rescore": 2}
KINDS = {"hnsw": HNSW, "flat": IVF_FLAT, "pq": IVF_PQ, "sq": SQ, "signs": SIGNS}
