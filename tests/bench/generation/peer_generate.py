"""The peer: the loop that beir's QueryGenerator and QGenModel are, around ``generate`` of transformers.

python -m bench.generation.peer_generate INPUT OUTPUT QUERIES LONGEST THREADS

beir leaves out the attention mask, and transformers 5 does not put it in: its model would read padding. So the loop is written
here, with the mask.
"""

import json
import sys
from pathlib import Path

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from bench.child import timed_call

BATCH = 32
"""What beir takes at a time, unless it is told otherwise."""


def main(source: Path, output: Path, queries: int, longest: int, threads: int) -> None:
    """Write; the model is loaded before the time begins."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    texts = json.loads((source / "texts.json").read_text())
    tokenizer = AutoTokenizer.from_pretrained(source / "model")
    model = AutoModelForSeq2SeqLM.from_pretrained(source / "model").eval()
    written: list[str] = []
    with timed_call(), torch.no_grad():
        for start in range(0, len(texts), BATCH):
            tokens = tokenizer(texts[start : start + BATCH], padding=True, truncation=True, return_tensors="pt")
            drawn = {"do_sample": True, "top_k": 10, "top_p": 1.0, "max_length": longest, "num_return_sequences": queries}
            written += tokenizer.batch_decode(model.generate(**tokens, **drawn), skip_special_tokens=True)
    found = [written[start : start + queries] for start in range(0, len(written), queries)]
    (output / "queries.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
