"""Folders that name code of their own, computed by the class that transformers has by now, beside sentence-transformers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from beirflow.core.errors import ModelError
from beirflow.models.settings import EncoderSettings
from encoding import loaded
from tiny_bert import change_weights, having, saved_once
from zoo import change_json, of_bert

TEXTS = ["w1 w2 w3", "", "w4 w5 w6 w7 w8 w9", "w3 " * 100]

FALSE = ("causal", "prenorm", "parallel_block", "parallel_block_tied_norm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias")
OF_CODE: dict[str, dict[str, Any]] = {
    "nomic_bert": {
        **dict.fromkeys((*FALSE, "rotary_emb_interleaved", "scale_attn_by_inverse_layer_idx", "use_rms_norm"), False),
        **dict.fromkeys(
            ("dense_seq_output", "fused_bias_fc", "fused_dropout_add_ln", "scale_attn_weights", "use_flash_attn"), True
        ),
        "activation_function": "swiglu",
        "attn_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "resid_pdrop": 0.0,
        "torch_dtype": "float32",
        "n_embd": 32,
        "n_head": 2,
        "n_inner": 64,
        "n_layer": 2,
        "n_positions": 8192,
        "layer_norm_epsilon": 1e-12,
        "rotary_emb_base": 1000,
        "rotary_emb_fraction": 1.0,
        "max_trained_positions": 2048,
        "summary_type": "cls_index",
    },
    "gte": {
        **dict.fromkeys(
            ("logn_attention_scale", "logn_attention_clip1", "unpad_inputs", "use_memory_efficient_attention"), False
        ),
        "position_embedding_type": "rope",
        "layer_norm_type": "layer_norm",
        "pack_qkv": True,
        "rope_theta": 160_000,
    },
}
"""Settings in ``config.json`` of nomic-embed-text and snowflake-arctic-embed-m-v2.0 that their own code reads."""


@saved_once
def save_with_code(folder: Path, kind: str) -> Path:
    """A folder as on the hub, whose code would leave a file behind."""
    model = of_bert("mean", model_type=kind, prompts={"query": "w1 ", "document": ""})(folder)
    change_json(model / "config.json", **OF_CODE[kind], auto_map={"AutoConfig": "trap.Config", "AutoModel": "trap.Model"})
    (model / "trap.py").write_text(
        "from pathlib import Path\nPath(__file__).with_name('sprung').touch()\nConfig = Model = None\n"
    )
    return folder


@pytest.fixture
def nomic(tmp_path: Path) -> Path:
    return save_with_code(tmp_path, "nomic_bert") / "model"


@pytest.mark.parametrize("kind", OF_CODE)
def test_the_class_of_transformers_computes_the_vectors_and_the_record_says_so(tmp_path: Path, kind: str) -> None:
    folder = save_with_code(tmp_path, kind) / "model"
    encoder = loaded(EncoderSettings("mine", str(folder)))
    peer = SentenceTransformer(str(folder), device="cpu", local_files_only=True, trust_remote_code=False)
    np.testing.assert_allclose(encoder.encode_queries(TEXTS), peer.encode_query(TEXTS), atol=1e-5)
    assert type(peer[0].model) is type(encoder.model)
    name = type(encoder.model).__name__
    assert encoder.made()["assumed"] == [
        f"mine: its model is computed by {name} of transformers, in place of the code that its files name (auto_map)"
    ]
    assert not (folder / "sprung").exists()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rotary_scaling_factor": 2}, "rotary_scaling_factor 2, not None"),
        ({"rotary_emb_fraction": 0.5}, "rotary_emb_fraction 0.5, not 1.0"),
        ({"causal": True, "auto_map": None}, "causal True, not False"),
        ({"activation_function": "gelu"}, "activation_function 'gelu', not 'swiglu'"),
        ({"n_head": 4}, "n_head 4, not 2"),
        ({"rotary_emb_base": 10_000}, "rotary_emb_base 10000, not 1000.0"),
        ({"num_experts": 8}, "num_experts 8, which is not known"),
        ({"rotary_emb_base": None, "rope_parameters": None}, "rotary_emb_base None, for which defaults differ"),
        ({"model_type": "gte", "logn_attention_scale": True}, "logn_attention_scale True, not False"),
    ],
)
def test_a_setting_that_the_class_would_ignore_is_refused(nomic: Path, changes: dict[str, Any], reason: str) -> None:
    change_json(nomic / "config.json", **changes)
    with pytest.raises(
        ModelError, match=f"^system mine: .*config.json has .*{reason}.*: the class that transformers has for type"
    ):
        loaded(EncoderSettings("mine", str(nomic)))


def test_every_weight_has_its_place_in_the_class(nomic: Path) -> None:
    change_weights(nomic, having("classifier.weight", torch.ones(2, 32)))  # a head that is left out of other folders
    with pytest.raises(ModelError, match=r"weights that the model of config.json does not use, .*: classifier\.weight"):
        loaded(EncoderSettings("mine", str(nomic)))
