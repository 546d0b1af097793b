"""llama.cpp's model, vocabulary, context and samplers, with checked arguments and typed errors."""
