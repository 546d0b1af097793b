"""llama.cpp's own nouns (model, vocabulary, context, sampler) with Python manners: checked arguments, named errors."""
