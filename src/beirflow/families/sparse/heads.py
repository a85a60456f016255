"""Heads of sparse models: loading them, with every weight used or refused, and pooling token logits to weights of terms.

SPLADE (Formal et al. 2021) gives the term j of a text the weight

    w_j = max_i log(1 + relu(h_i . E_j + b_j)),    in its first version the sum over i

where h_i is the hidden state of token i, and E_j and b_j are the row and the bias of term j in the output layer. The products are
computed in blocks of texts and terms, each in the same buffer and pooled before the next, so that no array holds every token and
term of a batch.
"""

from contextlib import suppress
from typing import Any, NamedTuple

import torch

from beirflow.core.errors import ModelError
from beirflow.families.sparse.layouts import Part
from beirflow.models.card_modules import RUN_THE_LIBRARY
from beirflow.models.computing.folder_tokenizer import tokenizer_of
from beirflow.models.computing.loading import LOCAL, check_weights, load_whole, loading_from, read_tensors, with_fast_products
from beirflow.models.computing.model_limits import known_tokens, readable_tokens, refuse_token_types
from beirflow.models.model_json import read_json_file
from beirflow.run.devices import multiply

CPU_TOKENS, CPU_TERMS = 1024, 512
"""Positions and terms of a block on a CPU, 2 MB in float32, so that its logits are pooled before they leave the caches of two
cores: a third less time than in blocks of 32 MB for hidden states of 128 numbers, and no more for those of 768.
"""

CUDA_LOGITS = 1 << 27  # logits of a block on a GPU, where few large products are fast

UNUSED = r"(^|\.)(pooler\.(dense\.)?(weight|bias)|cls\.seq_relationship\.(weight|bias)|embeddings\.position_ids)$"
"""Names of weights that a head does not use: of BERT's pooler and of its other task, and position numbers."""

OPTIONAL = {"may_lack": UNUSED, "may_have": UNUSED}

HEADS = {"splade": "a masked language model with its head", "unicoil": "a BERT with tok_proj", "sparta": "a bare model"}
"""Expected model of each kind of part that has one."""

PROBE_TOKENS = 12
PROBE_TOLERANCE = 64.0  # tolerance between logits computed in two steps and the model's own, in units of the precision's rounding


class Vocabulary(NamedTuple):
    """Output layer that gives every term a logit: a matrix of shape (terms, dim), and a bias of shape (terms,) or None."""

    matrix: torch.Tensor
    bias: torch.Tensor | None


def pool_terms(
    hidden: torch.Tensor, mask: torch.Tensor, vocabulary: Vocabulary, *, pooling: str = "max", activation: str = "relu"
) -> torch.Tensor:
    """Compute the weight of every term in every text: ``log(1 + relu(logit))``, pooled along the positions.

    Args:
        hidden: Hidden states, of shape (batch, positions, dim).
        mask: 1 for a token and 0 for padding, of shape (batch, positions); every text has a token in its first position.
        vocabulary: Gives terms their logits.
        pooling: ``max`` or ``sum``.
        activation: ``relu``, or ``log1p_relu``, which takes the logarithm twice.

    Returns:
        float32 of shape (batch, terms), on the device of the hidden states; not-a-number where a hidden state is.
    """
    texts, positions, dim = hidden.shape
    terms = len(vocabulary.matrix)
    weights = torch.empty((texts, terms), device=hidden.device)  # float32 whatever the model's precision, as results are stored
    # For the maximum, padding repeats the first position, which changes nothing.
    states = torch.where(mask[:, :, None] > 0, hidden, hidden[:, :1]) if pooling == "max" else hidden
    step = max(1, CUDA_LOGITS // (positions * terms) if hidden.is_cuda else CPU_TOKENS // positions)
    tokens = min(step, texts) * positions
    width = min(terms, CUDA_LOGITS // positions if hidden.is_cuda else max(CPU_TERMS, CPU_TERMS * CPU_TOKENS // tokens))
    buffer = torch.empty(tokens * width, dtype=hidden.dtype, device=hidden.device)
    matrices = torch.split(vocabulary.matrix, width)
    biases = (None,) * len(matrices) if vocabulary.bias is None else torch.split(vocabulary.bias.float(), width)
    for first in range(0, texts, step):
        rows = slice(first, first + step)
        flat = states[rows].reshape(-1, dim)
        for matrix, bias, pooled in zip(matrices, biases, torch.split(weights[rows], width, dim=1), strict=True):
            shape = flat.shape[0], matrix.shape[0]
            logits = multiply(flat, matrix, out=buffer[: shape[0] * shape[1]].view(shape))
            of_texts = logits.view(-1, positions, shape[1])
            pooled.copy_(of_texts.amax(dim=1) if pooling == "max" else _sum(of_texts, mask[rows], bias, activation))
    if pooling == "sum":
        return weights
    # The bias and the logarithm rise with the logit, so that they can wait until there is one a text and term.
    return _activate(weights if vocabulary.bias is None else weights.add_(vocabulary.bias.float()), activation)


def _sum(logits: torch.Tensor, mask: torch.Tensor, bias: torch.Tensor | None, activation: str) -> torch.Tensor:
    values = logits.float() if bias is None else logits.float() + bias
    return _activate(values, activation).mul_(mask[:, :, None]).sum(dim=1)


def _activate(logits: torch.Tensor, activation: str) -> torch.Tensor:
    logits = logits.relu_().log1p_()
    return logits.log1p_() if activation == "log1p_relu" else logits


def keep_most(weights: torch.Tensor, most: int) -> torch.Tensor:
    """Zero all but the heaviest terms of each text, float32 of shape (batch, terms); of equal weights, keep the first terms."""
    if most >= weights.shape[1]:
        return weights
    last = weights.topk(most, dim=1).values[:, -1:]
    above, tied = weights > last, weights == last
    free = most - above.sum(dim=1, keepdim=True)
    return torch.where(above | (tied & (tied.cumsum(dim=1) <= free)), weights, 0)


class Loaded(NamedTuple):
    """A model that gives hidden states, and the layer that turns them into weights."""

    model: Any  # called with ``input_ids`` and ``attention_mask``
    output: str  # name of the hidden states in its output
    vocabulary: Vocabulary | None  # gives terms their logits; None of ``unicoil``
    projection: torch.nn.Linear | None  # gives each token one weight, of ``unicoil``; else None
    terms: int  # size of the vocabulary
    longest: int  # tokens that the model can read


def load_part(part: Part, dtype: torch.dtype, device: torch.device) -> tuple[Any, Loaded | torch.Tensor | None]:
    """Load the tokenizer of a part, and, on the device, a model, a table of weights, float32 of shape (terms,), or None.

    Raises ModelError if weights are missing, unused or of another shape; or negative or not finite.
    """
    load = {"splade": _load_splade, "unicoil": _load_unicoil, "sparta": _load_sparta}.get(part.kind)
    with loading_from(part.folder):
        tokenizer = tokenizer_of(part.folder)
        if part.kind == "table":
            return tokenizer, _load_table(part, tokenizer)
        if load is None:
            return tokenizer, None
        try:
            loaded = load(part, dtype, device, tokenizer)
        except ModelError as error:
            raise ModelError(f"{error}. Expected by head: {part.kind} is {HEADS[part.kind]}") from error
        refuse_token_types(tokenizer, loaded.model, part.folder)
        return tokenizer, loaded


def _load_splade(part: Part, dtype: torch.dtype, device: torch.device, tokenizer: Any) -> Loaded:
    """Load a masked language model, split before its last layer."""
    from transformers import AutoModelForMaskedLM

    model = load_whole(AutoModelForMaskedLM, part.folder, part.weights[0].name, dtype, **OPTIONAL).to(device)
    known, longest = known_tokens(model), readable_tokens(model)
    tokens = [token for token in range(min(known, PROBE_TOKENS)) if token != tokenizer.pad_token_id]
    ids = torch.tensor([tokens[:longest]], device=device)
    with torch.inference_mode():
        expected = _logits(model, ids)
        if not bool(expected.isfinite().all()):
            raise ModelError(f"the logits of the {model.config.model_type} model in {part.folder} are not finite")
        vocabulary = _split(model, ids, expected, PROBE_TOLERANCE * torch.finfo(dtype).eps)
    return Loaded(model, "logits", vocabulary, None, expected.shape[-1], longest)


def _logits(model: Any, ids: torch.Tensor) -> torch.Tensor:
    return model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits


def _split(model: Any, ids: torch.Tensor, expected: torch.Tensor, tolerance: float) -> Vocabulary:
    """Take the output layer out of the model; refuse a model whose logits are not the products of that layer.

    Heads of MobileBERT and of newer DeBERTa read the weights of that layer without calling it. ``tolerance`` is relative to the
    largest logit.
    """
    last = model.get_output_embeddings()
    place = next((name for name, module in model.named_modules() if module is last), None)
    if isinstance(last, torch.nn.Linear) and place is not None:
        vocabulary = Vocabulary(last.weight.detach(), None if last.bias is None else last.bias.detach())
        parent, _, name = place.rpartition(".")
        setattr(model.get_submodule(parent), name, torch.nn.Identity())  # now the model returns the input of that layer
        with suppress(AttributeError, IndexError, RuntimeError, TypeError):  # of a head that does not call that layer
            difference = (multiply(_logits(model, ids), *vocabulary).float() - expected.float()).abs().max()
            if difference <= tolerance * expected.float().abs().max().clamp_min(1e-30):
                return vocabulary
    problem = f"the logits of the {model.config.model_type} model are not the products of its last layer"
    raise ModelError(f"{problem}, by which terms are weighed here; {RUN_THE_LIBRARY}")


def _load_sparta(part: Part, dtype: torch.dtype, device: torch.device, tokenizer: Any) -> Loaded:
    """Load a model without a head; its word embeddings give the logits, and special tokens none."""
    from transformers import AutoModel

    model = load_whole(AutoModel, part.folder, part.weights[0].name, dtype, **OPTIONAL).to(device)
    matrix = model.get_input_embeddings().weight.detach().clone()
    matrix[[token for token in tokenizer.all_special_ids if token < len(matrix)]] = 0  # no weight after relu
    return Loaded(model, "last_hidden_state", Vocabulary(matrix, None), None, len(matrix), readable_tokens(model))


def _load_unicoil(part: Part, dtype: torch.dtype, device: torch.device, tokenizer: Any) -> Loaded:
    """Load a BERT and the layer ``tok_proj``, which gives each token its weight."""
    from transformers import AutoConfig, AutoModel

    weights = {name.removeprefix("coil_encoder."): value for name, value in _tensors(part).items()}
    config = AutoConfig.from_pretrained(part.folder, **LOCAL)
    model = with_fast_products(AutoModel.from_config(config))
    # Checkpoints of different authors have these prefixes or not.
    own = {name.removeprefix("bert."): value for name, value in weights.items() if not name.startswith("tok_proj.")}
    missing, unexpected = model.load_state_dict(own, strict=False)
    needed = {f"tok_proj.{name}": weights.get(f"tok_proj.{name}") for name in ("weight", "bias")}
    check_weights(part.weights[0], [*missing, *(name for name in needed if name not in weights)], unexpected, **OPTIONAL)
    projection = torch.nn.Linear(config.hidden_size, 1)
    projection.load_state_dict({name.removeprefix("tok_proj."): value for name, value in needed.items()})
    model, projection = (each.to(device, dtype).eval() for each in (model, projection))
    return Loaded(model, "last_hidden_state", None, projection, known_tokens(model), readable_tokens(model))


def _tensors(part: Part) -> dict[str, torch.Tensor]:
    return {name: tensor for path in part.weights for name, tensor in read_tensors(path).items()}


def _load_table(part: Part, tokenizer: Any) -> torch.Tensor:
    """Read the weight of every token: from a tensor ``weight``, or from a JSON of weights by token."""
    (path,) = part.weights
    if path.suffix == ".json":
        by_token, vocabulary = read_json_file(path), tokenizer.get_vocab()
        if unknown := [token for token in by_token if token not in vocabulary]:
            raise ModelError(f"{path} has the token {unknown[0]!r}, which its tokenizer does not know")
        table = torch.zeros(max(vocabulary.values()) + 1)
        table[[vocabulary[token] for token in by_token]] = torch.tensor([*by_token.values()])
    else:
        tensors = _tensors(part)
        if set(tensors) != {"weight"} or tensors["weight"].ndim != 1:
            raise ModelError(
                f"{path} has {', '.join(sorted(tensors)) or 'nothing'}; expected one weight per token, named 'weight'"
            )
        table = tensors["weight"].float()
    wrong = (~table.isfinite() | (table < 0)).nonzero().flatten()
    if len(wrong):
        problem = f"{float(table[wrong[0]])!r} for the token {int(wrong[0])}"
        raise ModelError(f"{path} has the weight {problem}; weights of terms are finite and not negative")
    return table
