"""From texts to vectors: a backbone with its pooling and what follows, an ONNX graph, or a user's class."""
