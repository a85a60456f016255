"""Make a T5 of the small size with random weights, and documents as long as BEIR's are.

python -m bench.generation.inputs FOLDER DOCUMENTS

How fast a model writes depends on its sizes, and on how many tokens its queries have. So the token that ends a query has about
the probability of one of the ten from which the next is drawn, in every place: queries have some nine tokens.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

TERMS = 32_128
PAD, END, UNKNOWN = 0, 1, 2
FACTOR, CONSTANT, CANDIDATES, SHIFT = 0.3, 20.0, 10, 1.0
MEDIAN, SIGMA, LONGEST = 74.7, 0.65, 510
"""Of the tokens of a document, as in `bench-gpu`."""


def save_model(folder: Path) -> None:
    """Save configuration, weights and a tokenizer whose words are w3, w4, …"""
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=TERMS,
        d_model=512,
        d_kv=64,
        d_ff=2048,
        num_layers=6,
        num_heads=8,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=PAD,
        initializer_factor=FACTOR,
        tie_word_embeddings=False,
    )
    model = T5ForConditionalGeneration(config).eval()
    with torch.no_grad():
        model.lm_head.weight.normal_(0, config.d_model**-0.5)
        end_with_the_first_coordinate(model)
    model.save_pretrained(folder)
    vocabulary = {"<pad>": PAD, "</s>": END, "<unk>": UNKNOWN, **{f"w{number}": number for number in range(3, TERMS)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", END)])
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **names).save_pretrained(folder)


def end_with_the_first_coordinate(model: T5ForConditionalGeneration) -> None:
    """Make the first coordinate of hidden states nearly constant, and let the logit of the end depend on it alone."""
    model.shared.weight[:, 0] = CONSTANT
    model.lm_head.weight[:, 0] = 0
    model.lm_head.weight[END] = 0
    tokens = torch.arange(3, 3 + 256).view(16, 16)
    hidden = model(input_ids=tokens, decoder_input_ids=tokens, output_hidden_states=True).decoder_hidden_states[-1]
    likely = model.lm_head(hidden).topk(CANDIDATES).values.mean()
    model.lm_head.weight[END, 0] = (likely + SHIFT) / hidden[:, :, 0].mean()


def write(folder: Path, documents: int) -> None:
    """Write the model, and the documents longest first, as in a chunk."""
    folder.mkdir(parents=True)
    save_model(folder / "model")
    rng = np.random.default_rng(documents)
    lengths = np.sort(np.clip(rng.lognormal(np.log(MEDIAN), SIGMA, documents), 5, LONGEST).astype(int))[::-1]
    texts = [" ".join(f"w{number}" for number in rng.integers(3, TERMS, length)) for length in lengths.tolist()]
    (folder / "texts.json").write_text(json.dumps(texts))


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
