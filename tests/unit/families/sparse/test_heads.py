"""Every weight of a model is used, or the model is refused; pooling in blocks gives what an array of everything would."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForMaskedLM

from beirflow.core.errors import ModelError
from beirflow.families.sparse import heads
from beirflow.families.sparse.heads import Loaded, Vocabulary, keep_most, load_part, pool_terms
from beirflow.families.sparse.layouts import Part, read_parts
from beirflow.families.sparse.settings import SparseSettings
from pairs import pairs
from tiny_bert import Weights, change_weights, having, save_model, save_tiny_bert, without
from tiny_sparse import TERMS, save_masked_lm, save_sparta, save_unicoil
from zoo import change_json

SAVE: dict[str, Callable[[Path], Path]] = {"splade": save_masked_lm, "unicoil": save_unicoil, "sparta": save_sparta}


def part_of(folder: Path, head: str = "splade") -> Part:
    return read_parts(SparseSettings("s", model=str(folder), head=head)).documents


def load(folder: Path, head: str = "splade") -> None:
    load_part(part_of(folder, head), torch.float32, torch.device("cpu"))


@pytest.mark.parametrize(
    ("head", "changed", "says"),
    [
        ("splade", without("cls.predictions.transform.dense.weight"), r"\.transform\.dense\.weight; these would be random"),
        ("unicoil", without("coil_encoder.tok_proj.weight"), r"tok_proj\.weight; these would be random"),
        ("unicoil", without("coil_encoder.bert.encoder.layer.1.output.dense.bias"), r"layer\.1\.output\.dense\.bias"),
        ("sparta", without("transformer.layer.0.ffn.lin1.weight"), r"layer\.0\.ffn\.lin1\.weight; these would be random"),
        *((head, having("extra.weight", torch.ones(3)), r"that the model does not use: extra\.weight") for head in SAVE),
        ("unicoil", having("coil_encoder.tok_proj.weight", torch.ones(1, 31)), r"cannot be loaded .*\[1, 31\].*\[1, 32\]"),
        ("splade", having("cls.predictions.bias", torch.full((TERMS,), torch.inf)), "logits of the bert model .* not finite"),
    ],
)
def test_weights_that_are_missing_unused_or_wrong_are_refused(
    tmp_path: Path, head: str, changed: Callable[[Weights], Weights], says: str
) -> None:
    SAVE[head](tmp_path)
    load(tmp_path, head)
    change_weights(tmp_path, changed)
    with pytest.raises(ModelError, match=says):
        load(tmp_path, head)


def test_the_pooler_and_the_other_task_of_bert_are_no_part_of_the_head(tmp_path: Path) -> None:
    save_masked_lm(tmp_path)
    more = {"cls.seq_relationship.weight": torch.ones(2, 32), "cls.seq_relationship.bias": torch.ones(2)}
    more |= {"bert.pooler.dense.weight": torch.ones(32, 32), "bert.pooler.dense.bias": torch.ones(32)}
    change_weights(tmp_path, lambda weights: weights | more)
    load(tmp_path)


def test_a_model_without_the_head_or_of_another_size_is_refused(tmp_path: Path) -> None:
    save_tiny_bert(tmp_path)
    with pytest.raises(ModelError, match=r"no weights for cls\.predictions.*head: splade is a masked language model"):
        load(tmp_path)
    with pytest.raises(ModelError, match=r"no weights for tok_proj"):
        load(tmp_path, "unicoil")
    save_masked_lm(tmp_path)
    change_json(tmp_path / "config.json", vocab_size=TERMS + 1)
    with pytest.raises(ModelError, match="cannot be loaded"):
        load(tmp_path)


@pytest.mark.parametrize("model_type", ["distilbert", "roberta", "modernbert", "electra", "albert", "mpnet"])
def test_heads_of_other_models_are_found_by_their_last_layer(tmp_path: Path, model_type: str) -> None:
    save_model(model_type, tmp_path)
    torch.manual_seed(0)
    AutoModelForMaskedLM.from_config(AutoConfig.from_pretrained(tmp_path)).save_pretrained(tmp_path)
    _, loaded = load_part(part_of(tmp_path), torch.float32, torch.device("cpu"))
    assert isinstance(loaded, Loaded)
    assert loaded.terms == TERMS
    ids = torch.tensor([[5, 6, 7, 8]])
    model = AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    with torch.inference_mode():
        hidden = loaded.model(input_ids=ids, attention_mask=torch.ones_like(ids))[loaded.output]
        expected = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    assert loaded.vocabulary
    torch.testing.assert_close(torch.nn.functional.linear(hidden, *loaded.vocabulary), expected, rtol=1e-5, atol=1e-5)


def table(weight: float) -> torch.Tensor:
    return torch.cat([torch.rand(7), torch.tensor([weight]), torch.rand(TERMS - 8)])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        *(
            ({"weight": table(wrong)}, "the token 7; weights of terms are finite and not")
            for wrong in (-0.5, torch.inf, torch.nan)
        ),
        ({"weight": torch.ones(2, 3)}, "expected one weight per token"),
        ({"weight": table(1), "other": table(1)}, "expected one weight per token"),
        ('{"w1": 1.0, "elsewhere": 2.0}', "the token 'elsewhere', which its tokenizer"),
        ('{"w1":' * 100_000, r"idf\.json cannot be read as JSON"),
    ],
)
def test_a_table_of_something_else_is_refused(tmp_path: Path, content: Weights | str, says: str) -> None:
    save_tiny_bert(tmp_path)
    path = tmp_path / ("idf.json" if isinstance(content, str) else "table.safetensors")
    path.write_text(content) if isinstance(content, str) else save_file(content, path)
    with pytest.raises(ModelError, match=says):
        load_part(Part("table", tmp_path, (path,)), torch.float32, torch.device("cpu"))


TEXTS, POSITIONS, DIM, SIZE = 5, 7, 8, 50


def whole(hidden: torch.Tensor, mask: torch.Tensor, vocabulary: Vocabulary, how: str, activation: str) -> torch.Tensor:
    """The formula, with everything in memory."""
    logits = hidden @ vocabulary.matrix.T + (0 if vocabulary.bias is None else vocabulary.bias)
    found = torch.log(1 + logits.clamp(min=0))
    found = (torch.log(1 + found) if activation == "log1p_relu" else found) * mask[:, :, None]
    return found.amax(dim=1) if how == "max" else found.sum(dim=1)


@pytest.mark.parametrize(
    ("how", "activation", "blocks", "with_bias"),
    pairs(["max", "sum"], ["relu", "log1p_relu"], [(256, 1024), (1, 1), (14, 16)], [True, False]),
)
def test_blocks_change_nothing(
    monkeypatch: pytest.MonkeyPatch, how: str, activation: str, blocks: tuple[int, int], with_bias: bool
) -> None:
    monkeypatch.setattr(heads, "CPU_TOKENS", blocks[0])
    monkeypatch.setattr(heads, "CPU_TERMS", blocks[1])
    torch.manual_seed(0)
    hidden = torch.randn(TEXTS, POSITIONS, DIM)
    mask = (torch.arange(POSITIONS) < torch.tensor([[7], [7], [3], [1], [2]])).long()
    vocabulary = Vocabulary(torch.randn(SIZE, DIM), torch.randn(SIZE) if with_bias else None)
    expected = whole(hidden, mask, vocabulary, how, activation)
    # What padding holds is of no account.
    hidden = torch.where(mask[:, :, None] > 0, hidden, 1e3 if how == "sum" else torch.inf)
    found = pool_terms(hidden, mask, vocabulary, pooling=how, activation=activation)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_not_a_number_stays_one() -> None:
    hidden = torch.randn(2, 3, DIM)
    hidden[1, 2, 0] = torch.nan
    found = pool_terms(hidden, torch.ones(2, 3), Vocabulary(torch.randn(SIZE, DIM), None))
    assert found[0].isfinite().all()
    assert found[1].isnan().all()


@pytest.mark.parametrize("most", [1, 2, 3, 4, 9])
def test_of_equal_weights_the_first_terms_are_kept(most: int) -> None:
    weights = torch.tensor([[1.0, 3, 2, 2, 2], [0, 0, 5, 0, 0], [1, 1, 1, 1, 1]])
    found = keep_most(weights, most)
    for row, kept in zip(weights.tolist(), found.tolist(), strict=True):
        best = sorted(range(5), key=lambda term: (-row[term], term))[:most]
        assert kept == [weight if term in best else 0 for term, weight in enumerate(row)]
