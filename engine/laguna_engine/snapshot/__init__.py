"""Snapshots of the KV cache on disk: written in pieces while the engine is idle, checked before llama.cpp sees them."""
