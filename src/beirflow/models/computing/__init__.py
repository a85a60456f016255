"""Computing with the weights of a model, for every family: device and precision, batches, limits, errors."""
