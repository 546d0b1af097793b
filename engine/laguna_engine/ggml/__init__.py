"""ggml from Python: strict tensors, persistent graphs, weights straight from a model file onto a device."""
