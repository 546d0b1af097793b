"""ggml from Python: checked tensors and operations, persistent graphs, weights loaded from a model file to a device."""
