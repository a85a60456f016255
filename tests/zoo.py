"""Tiny encoders with random weights, each of another kind, in the layout in which a hub has them."""

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer, models
from sentence_transformers.base.modules import Dense, Normalize, Router, Transformer
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    BertJapaneseTokenizer,
    ByT5Tokenizer,
    CLIPConfig,
    CLIPImageProcessor,
    CLIPModel,
    T5Config,
    T5EncoderModel,
)

from tiny_bert import DIM, SIZES, SPECIAL, WORDS, save_model, save_tiny_bert

Build = Callable[[Path], Any]


def change_json(path: Path, **changes: Any) -> None:
    """Change keys of a JSON file; None takes a key away."""
    held = (json.loads(path.read_text()) if path.exists() else {}) | changes
    path.write_text(json.dumps({key: value for key, value in held.items() if value is not None}))


def save_modules(folder: Path, *modules: Any, **library: Any) -> Path:
    """Save a model of sentence-transformers, and change its configuration."""
    torch.manual_seed(2)
    for module in modules:
        for name, parameter in module.named_parameters() if isinstance(module, Dense | models.LayerNorm) else ():
            nn.init.normal_(parameter, mean=1.0 if name == "norm.weight" else 0.0, std=0.3)
    prompts = library.pop("prompts", None)
    model = SentenceTransformer(modules=list(modules), device="cpu", prompts=prompts)
    model.save_pretrained(str(folder), create_model_card=False)
    change_json(folder / "config_sentence_transformers.json", **library)
    return folder


def of_bert(
    pooling: Any = "mean", *more: Any, model_type: str = "bert", sizes: Mapping[str, Any] | None = None, **library: Any
) -> Build:
    """A backbone, its pooling, and perhaps more modules."""

    def build(folder: Path) -> Path:
        first = Transformer(str(save_model(model_type, folder / "backbone", **(sizes or {}))), **library.pop("transformer", {}))
        pooled = models.Pooling(
            first.get_embedding_dimension(), **(pooling if isinstance(pooling, dict) else {"pooling_mode": pooling})
        )
        return save_modules(folder / "model", first, pooled, *(make() for make in more), **library)

    return build


def t5(folder: Path) -> Path:
    """GTR's kind: the encoder of a T5, mean, Dense without a bias, length 1."""
    backbone = save_tiny_bert(folder / "backbone")
    torch.manual_seed(1)
    config = T5Config(vocab_size=SIZES["vocab_size"], d_model=DIM, d_kv=16, d_ff=64, num_layers=2, num_heads=2, pad_token_id=0)
    T5EncoderModel(config).eval().save_pretrained(backbone)
    dense = Dense(DIM, 24, bias=False, activation_function=nn.Identity())
    return save_modules(folder / "model", Transformer(str(backbone)), models.Pooling(DIM), dense, Normalize())


BART: dict[str, Any] = {
    **dict.fromkeys(("encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads"), 2),
    **{key: SIZES[key] for key in ("vocab_size", "pad_token_id", "bos_token_id", "eos_token_id")},
    "d_model": DIM,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "decoder_start_token_id": 2,
    "max_position_embeddings": 70,
    "init_std": 0.5,
}
GEMMA = {**SIZES, "num_key_value_heads": 1, "head_dim": 16, "max_position_embeddings": 70, "sliding_window": 8}
GEMMA |= {"query_pre_attn_scalar": 16}


def encoder_half(model_type: str, class_name: str, **sizes: Any) -> Build:
    """The encoder of an encoder-decoder, saved by itself."""

    def build(folder: Path) -> Path:
        backbone = save_tiny_bert(folder / "backbone")
        kind = getattr(import_module(f"transformers.models.{model_type}.modeling_{model_type}"), class_name)
        torch.manual_seed(1)
        kind(AutoConfig.for_model(model_type, **sizes)).eval().save_pretrained(backbone)
        return save_modules(folder / "model", Transformer(str(backbone)), models.Pooling(DIM))

    return build


def save_japanese_tokenizer(folder: Path, *words: str) -> None:
    """A tokenizer in Python that splits texts into characters, in place of that of the tiny BERT."""
    for path in folder.glob("tokenizer*"):
        path.unlink()
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys([*SPECIAL, *words, *"w0123456789unko漢字"])), encoding="utf-8")
    kinds = {"word_tokenizer_type": "basic", "subword_tokenizer_type": "character"}
    BertJapaneseTokenizer(str(folder / "vocab.txt"), do_lower_case=False, model_max_length=64, **kinds).save_pretrained(folder)


def japanese(folder: Path) -> Path:
    """A BERT whose tokenizer is written in Python."""
    backbone = save_model("bert", folder / "backbone")
    save_japanese_tokenizer(backbone, "[MASK]")
    return save_modules(folder / "model", Transformer(str(backbone)), models.Pooling(DIM))


def static(folder: Path) -> Path:
    """A table of vectors, one a token."""
    tokenizer = AutoTokenizer.from_pretrained(save_tiny_bert(folder / "backbone"))
    torch.manual_seed(3)
    weights = torch.randn(len(tokenizer), DIM)
    return save_modules(folder / "model", models.StaticEmbedding(tokenizer, embedding_weights=weights), Normalize())


def model2vec(folder: Path) -> Path:
    """The same as model2vec writes it: several tokens share a row, and each has a weight."""
    static(folder)
    torch.manual_seed(3)
    tokens = SIZES["vocab_size"]
    tensors = {"embeddings": torch.randn(50, DIM), "mapping": torch.arange(tokens) % 50, "weights": torch.rand(tokens)}
    [path] = (folder / "model").rglob("model.safetensors")
    save_file(tensors, path)
    return folder / "model"


def word_table() -> models.WordEmbeddings:
    """A table of vectors, one a word between spaces; that of the padding is zeros."""
    torch.manual_seed(3)
    tokenizer = models.tokenizer.WhitespaceTokenizer(["PADDING_TOKEN", *WORDS], stop_words=["w3"], do_lower_case=False)
    vectors = torch.randn(len(WORDS) + 1, DIM)
    vectors[0] = 0
    return models.WordEmbeddings(tokenizer, vectors)


def of_words(module: Callable[[], nn.Module] | None = None, dim: int = DIM) -> Build:
    """A table of word vectors, perhaps a module that changes them, and their mean."""

    def build(folder: Path) -> Path:
        table = word_table()
        return save_modules(folder / "model", table, *([module()] if module else []), models.Pooling(dim))

    return build


def bag_of_words(folder: Path) -> Path:
    """A vector with one component a word."""
    weights = {word: 1.0 + i % 7 for i, word in enumerate(WORDS)}
    return save_modules(folder / "model", models.BoW(vocab=WORDS, word_weights=weights), Normalize())


def clip(folder: Path) -> Path:
    """A CLIP, in the layout of version 2."""
    place = save_tiny_bert(folder / "model/0_CLIPModel")
    sizes = {"hidden_size": DIM, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    tokens = {"vocab_size": SIZES["vocab_size"], "max_position_embeddings": 64, "eos_token_id": 3, "pad_token_id": 0}
    torch.manual_seed(1)
    config = CLIPConfig(
        text_config={**sizes, **tokens}, vision_config={**sizes, "image_size": 16, "patch_size": 8}, projection_dim=16
    )
    CLIPModel(config).eval().save_pretrained(place)
    CLIPImageProcessor(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}).save_pretrained(place)
    change_json(place / "preprocessor_config.json", processor_class="CLIPProcessor")
    module = {"idx": 0, "name": "0", "path": "0_CLIPModel", "type": "sentence_transformers.models.CLIPModel"}
    (folder / "model/modules.json").write_text(json.dumps([module]))
    change_json(folder / "model/config_sentence_transformers.json", __version__={"sentence_transformers": "2.0.0"})
    return folder / "model"


def two_towers(folder: Path) -> Path:
    """A Router: queries go through a table of vectors, documents through a BERT; both end in length 1."""
    tokenizer = AutoTokenizer.from_pretrained(save_tiny_bert(folder / "tokens"))
    torch.manual_seed(3)
    queries = [models.StaticEmbedding(tokenizer, embedding_weights=torch.randn(len(tokenizer), DIM))]
    documents = [Transformer(str(save_model("bert", folder / "backbone"))), models.Pooling(DIM, "cls")]
    return save_modules(folder / "model", Router.for_query_document(queries, documents), Normalize())


def two_transformers(folder: Path) -> Path:
    """A Router whose routes have a transformer, a length, a pooling and a Dense each, and prompts."""
    routes = []
    for name, model_type, mode, length in (("query", "bert", "cls", 12), ("document", "distilbert", "mean", 40)):
        backbone = Transformer(str(save_model(model_type, folder / name)), max_seq_length=length)
        routes.append([backbone, models.Pooling(DIM, mode), Dense(DIM, 16)])
    return save_modules(
        folder / "model", Router.for_query_document(*routes), Normalize(), prompts={"query": "w1 ", "document": "w2 "}
    )


def two_heads(folder: Path) -> Path:
    """One transformer, and a Router behind its pooling that has names of its own for its routes."""
    backbone = Transformer(str(save_model("bert", folder / "backbone")))
    mappings = {("query", None): "a", ("document", "text"): "b"}
    router = Router({name: [Dense(DIM, 16)] for name in "ab"}, route_mappings=mappings)
    return save_modules(folder / "model", backbone, models.Pooling(DIM), router)


def byt5(folder: Path) -> Path:
    """A T5 of bytes: a tokenizer in Python, without a vocabulary."""
    ByT5Tokenizer().save_pretrained(folder / "backbone")
    torch.manual_seed(1)
    config = T5Config(vocab_size=384, d_model=DIM, d_kv=16, d_ff=64, num_layers=2, num_heads=2, pad_token_id=0)
    T5EncoderModel(config).eval().save_pretrained(folder / "backbone")
    return save_modules(folder / "model", Transformer(str(folder / "backbone"), max_seq_length=60), models.Pooling(DIM))


def old_layout(folder: Path) -> Path:
    """As version 1 and 2 wrote it: the backbone in a folder of its own, types of that time, booleans for pooling."""
    of_bert("cls", Normalize, transformer={"max_seq_length": 20})(folder)
    model = folder / "model"
    (model / "0_Transformer").mkdir()
    kept = ("modules.json", "config_sentence_transformers.json")
    for path in [path for path in model.iterdir() if path.is_file() and path.name not in kept]:
        path.rename(model / "0_Transformer" / path.name)
    (model / "0_Transformer/sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 20}))
    modes = {
        f"pooling_mode_{name}": name == "cls_token" for name in ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens")
    }
    (model / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": DIM, **modes}))
    types = {"0": "Transformer", "1": "Pooling", "2": "Normalize"}
    paths = {"0": "0_Transformer", "1": "1_Pooling", "2": "2_Normalize"}
    entries = [
        {"idx": int(i), "name": i, "path": paths[i], "type": f"sentence_transformers.models.{name}"} for i, name in types.items()
    ]
    (model / "modules.json").write_text(json.dumps(entries))
    (model / "config_sentence_transformers.json").unlink()
    return model


def without_special_tokens(build: Build) -> Build:
    """The same with a tokenizer that adds no special tokens, so that an empty text has none."""

    def changed(folder: Path) -> Path:
        model = build(folder)
        change_json(model / "tokenizer.json", post_processor=None)
        return model

    return changed


def with_json(build: Build, name: str, **changes: Any) -> Build:
    """The same with other values in one of its files."""

    def changed(folder: Path) -> Path:
        model = build(folder)
        change_json(model / name, **changes)
        return model

    return changed


def sharded(folder: Path) -> Path:
    """The weights in several files with an index."""
    model = of_bert("mean")(folder)
    AutoModel.from_pretrained(model).save_pretrained(model, max_shard_size="20KB")
    (model / "model.safetensors").unlink(missing_ok=True)
    return model


T5_SIZES = {"vocab_size": SIZES["vocab_size"], "d_model": DIM, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2}
LLAMA = {"num_key_value_heads": 1, "head_dim": 16}
QUERY = {"query": "w1 w2 ", "document": ""}

KINDS: dict[str, Build] = {
    "BERT, mean, 256 tokens, length 1": of_bert("mean", Normalize, transformer={"max_seq_length": 30}),
    "BERT, cls, instruction (BGE)": of_bert("cls", Normalize, prompts=QUERY),
    "DistilBERT, cls, dot (TAS-B)": of_bert("cls", model_type="distilbert", similarity_fn_name="dot"),
    "RoBERTa, cls, Dense, LayerNorm, lower case (ANCE)": of_bert(
        "cls",
        lambda: Dense(DIM, 24, activation_function=nn.Identity()),
        lambda: models.LayerNorm(24),
        model_type="roberta",
        transformer={"do_lower_case": True},
        similarity_fn_name="dot",
    ),
    "XLM-R, both prompts (e5)": of_bert("mean", Normalize, model_type="xlm-roberta", prompts={"query": "w1 ", "document": "w2 "}),
    "MPNet, mean": of_bert("mean", Normalize, model_type="mpnet"),
    "ALBERT, mean": of_bert("mean", model_type="albert", sizes={"embedding_size": 16}),
    "ELECTRA, cls": of_bert("cls", model_type="electra", sizes={"embedding_size": 16}),
    "DeBERTa v3, mean": of_bert(
        "mean", model_type="deberta-v2", sizes={"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
    ),
    "ModernBERT, cls": of_bert("cls", model_type="modernbert", sizes={"cls_token_id": 2, "sep_token_id": 3}),
    "NomicBERT, mean": of_bert("mean", model_type="nomic_bert"),
    "GTE, mean": of_bert("mean", model_type="gte"),
    "Jina v3, mean": of_bert("mean", Normalize, model_type="jina_embeddings_v3"),
    "EuroBERT, mean": of_bert("mean", model_type="eurobert"),
    "Longformer, mean": of_bert("mean", model_type="longformer", sizes={"attention_window": [8, 8]}),
    "Llama without causal attention, mean": of_bert("mean", model_type="llama", sizes={**LLAMA, "is_causal": False}),
    "Gemma 3, bidirectional, two Dense (EmbeddingGemma)": of_bert(
        "mean",
        lambda: Dense(DIM, 48, bias=False, activation_function=nn.Identity()),
        lambda: Dense(48, DIM, bias=False, activation_function=nn.Identity()),
        Normalize,
        model_type="gemma3_text",
        sizes={**LLAMA, "use_bidirectional_attention": True, "sliding_window": 16},
    ),
    "Qwen 3, last token, instruction": of_bert("lasttoken", Normalize, model_type="qwen3", sizes=LLAMA, prompts=QUERY),
    "Mistral, last token (E5)": of_bert("lasttoken", Normalize, model_type="mistral", sizes=LLAMA),
    "Qwen 2 without special tokens, mean": without_special_tokens(of_bert("mean", Normalize, model_type="qwen2", sizes=LLAMA)),
    "Qwen 3, padded on the left with its last token": with_json(
        of_bert("lasttoken", model_type="qwen3", sizes=LLAMA), "tokenizer_config.json", padding_side="left", pad_token="[SEP]"
    ),
    "GPT-2, weighted mean (SGPT)": of_bert("weightedmean", model_type="gpt2", sizes={"n_positions": 70}),
    "distiluse, Dense with Tanh": of_bert("mean", lambda: Dense(DIM, 16)),
    "Dense with ReLU6": of_bert("mean", lambda: Dense(DIM, 16, activation_function=nn.ReLU6())),
    "Dense with a residual": of_bert("mean", lambda: Dense(DIM, 16, use_residual=True)),
    "no special tokens and a Dense": without_special_tokens(of_bert("mean", lambda: Dense(DIM, 16))),
    "max": of_bert("max"),
    "mean over the root of the length": of_bert("mean_sqrt_len_tokens"),
    "weighted mean": of_bert("weightedmean"),
    "cls and mean": of_bert(("cls", "mean")),
    "longer texts than it was made for (rotation)": with_json(
        of_bert("cls", model_type="modernbert", sizes={"cls_token_id": 2, "sep_token_id": 3}),
        "sentence_bert_config.json",
        max_seq_length=90,
    ),
    "longer texts than it was made for (rotation, causal)": with_json(
        of_bert("lasttoken", model_type="qwen3", sizes=LLAMA), "sentence_bert_config.json", max_seq_length=90
    ),
    "longer texts than it was made for (distances)": with_json(
        of_bert(
            model_type="deberta-v2",
            sizes={"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False},
        ),
        "sentence_bert_config.json",
        max_seq_length=90,
    ),
    "cut on the left": with_json(
        of_bert("mean", transformer={"max_seq_length": 9}), "tokenizer_config.json", truncation_side="left"
    ),
    "lengths of queries and documents": with_json(
        of_bert("mean", transformer={"max_seq_length": 20}), "sentence_bert_config.json", query_length=40, document_length=9
    ),
    "lower case": of_bert("mean", transformer={"do_lower_case": True}),
    "Matryoshka": of_bert("mean", Normalize, truncate_dim=8),
    "T5 encoder (GTR)": t5,
    "T5Gemma encoder": encoder_half("t5gemma", "T5GemmaEncoderModel", encoder=GEMMA, decoder=GEMMA, is_encoder_decoder=False),
    "StaticEmbedding": static,
    "model2vec": model2vec,
    "two towers (Router)": two_towers,
    "two towers of transformers (Router)": two_transformers,
    "two heads (Router)": two_heads,
    "layout of version 2": old_layout,
    "sharded": sharded,
}
"""By name, a function that builds a model below a folder and returns the folder of the model."""

LIBRARY_ALONE: dict[str, Build] = {
    "BoW": bag_of_words,
    "prompt left out of the mean (INSTRUCTOR)": of_bert({"pooling_mode": "mean", "include_prompt": False}, prompts=QUERY),
    "prompt left out of the weighted mean": of_bert({"pooling_mode": "weightedmean", "include_prompt": False}, prompts=QUERY),
    "prompt left out of the last token, which may leave nothing": with_json(
        of_bert({"pooling_mode": "lasttoken", "include_prompt": False}, prompts=QUERY), "tokenizer.json", post_processor=None
    ),
    "ByT5": byt5,
    "tokenizer in Python (Japanese)": japanese,
    "M2M100 encoder (SONAR)": encoder_half("m2m_100", "M2M100Encoder", **BART),
    "Pegasus encoder": encoder_half("pegasus", "PegasusEncoder", **BART),
    "Marian encoder": encoder_half("marian", "MarianEncoder", **BART),
    "Switch Transformers encoder": encoder_half(
        "switch_transformers", "SwitchTransformersEncoderModel", num_experts=2, pad_token_id=0, **T5_SIZES
    ),
    "CLIP in the layout of version 2": clip,
    "WordEmbeddings": of_words(),
    "CNN": of_words(lambda: models.CNN(DIM, 8), dim=24),
    "LSTM": of_words(lambda: models.LSTM(DIM, 8), dim=16),
    "WordWeights": of_words(lambda: models.WordWeights(["PADDING_TOKEN", *WORDS], {"w1": 2.0, "w5": 0.5}, 0.25)),
}
"""The same of kinds with modules that only sentence-transformers itself computes."""
