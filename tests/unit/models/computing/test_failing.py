"""Errors of a model's own code are said in words, on every device; those of a device pass."""

import pytest
import torch

from beirflow.core.errors import ModelError
from beirflow.models.computing.failing import in_words


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("The size of tensor a (600) must match the size of tensor b (512) at non-singleton dimension 1"),
        IndexError("index out of range in self"),
    ],
    ids=str,
)
def test_a_model_that_fails_is_named_with_the_length_of_the_texts_and_what_to_do(error: Exception) -> None:
    with pytest.raises(ModelError) as caught, in_words(600, "tiny"):
        raise error
    assert str(caught.value).startswith(
        f"system tiny: the model fails on texts of up to 600 tokens ({type(error).__name__}: {error})"
    )
    assert "lower max_length" in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        torch.AcceleratorError("CUDA error: device-side assert triggered"),
        RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`"),
        RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"),
    ],
    ids=str,
)
def test_errors_of_a_device_pass(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, in_words(600, "tiny"):
        raise error
    assert caught.value is error
