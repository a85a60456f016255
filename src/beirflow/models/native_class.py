"""Types of models that came with code of their own, and whose class transformers has by now.

The native class ignores settings of that code. A folder is computed by it if each of them has the value that the class computes.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beirflow.core.errors import ModelError
from beirflow.models.model_json import read_object

THETA = "rope_theta"

NAMES: Mapping[str, Mapping[str, str]] = {
    "nomic_bert": {
        "n_embd": "hidden_size",
        "n_head": "num_attention_heads",
        "n_inner": "intermediate_size",
        "n_layer": "num_hidden_layers",
        "layer_norm_epsilon": "layer_norm_eps",
        "rotary_emb_base": THETA,
    },
    "gte": {THETA: THETA},
}
"""By type, settings that the class has under a name of its own."""

VALUES: Mapping[str, dict[str, Any]] = {
    "nomic_bert": {
        "activation_function": "swiglu",
        "rotary_emb_fraction": 1.0,
        "scale_attn_weights": True,
        **dict.fromkeys(("rotary_emb_scale_base", "rotary_scaling_factor")),
        **dict.fromkeys(("causal", "prenorm", "parallel_block", "parallel_block_tied_norm", "use_rms_norm"), False),
        **dict.fromkeys(("qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "rotary_emb_interleaved"), False),
        **dict.fromkeys(("scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn"), False),
    },
    "gte": {
        "position_embedding_type": "rope",
        "layer_norm_type": "layer_norm",
        "rope_scaling": None,
        **dict.fromkeys(("logn_attention_scale", "logn_attention_clip1"), False),
    },
}
"""By type, the values that the class computes of settings that it does not have; null leaves them out."""

HARMLESS = {
    *("attn_pdrop", "embd_pdrop", "resid_pdrop", "summary_activation", "summary_first_dropout", "summary_proj_to_labels"),
    *("summary_type", "summary_use_proj", "n_positions", "max_trained_positions", "pad_vocab_size_multiple", "dense_seq_output"),
    *("use_flash_attn", "use_xentropy", "fused_bias_fc", "fused_dropout_add_ln", "pack_qkv", "unpad_inputs", "use_cache"),
    *("use_memory_efficient_attention", "matryoshka_dimensions", "auto_map", "torch_dtype", "tie_word_embeddings"),
}
"""Settings that change no vector: of training, of speed, and the longest text, which the card of the model has."""


def check_settings(path: Path, config: Any) -> None:
    """Refuse a ``config.json`` whose settings the class of transformers would ignore, although its code computes by them.

    ``config`` is that file as transformers reads it; of a file that names code, all settings must be known.
    """
    kind, held = config.model_type, read_object(path)
    if kind not in NAMES:
        return
    used = {**config.to_dict(), **config.rope_parameters}
    wanted = VALUES[kind] | {key: used[name] for key, name in NAMES[kind].items()}
    strange = {key: f"not {value!r}" for key, value in wanted.items() if held.get(key) not in (None, value)}
    if held.get("auto_map"):
        known = {*type(config)().to_dict(), *wanted, *HARMLESS}
        strange |= dict.fromkeys(held.keys() - known, "which is not known")
        set_keys = {key for key, value in {**held, **(held.get("rope_parameters") or {})}.items() if value is not None}
        missing = [key for key, name in NAMES[kind].items() if not set_keys & {key, name}]
        strange |= dict.fromkeys(missing, "for which defaults differ")
    if strange:
        described = "; ".join(f"{key} {held.get(key)!r}, {why}" for key, why in sorted(strange.items()))
        raise ModelError(
            f"{path} has {described}: the class that transformers has for type {kind} computes something else. Name a class of"
            " your own in 'encoder'"
        )
