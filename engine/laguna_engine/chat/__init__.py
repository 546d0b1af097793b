"""Laguna's chat format: safe encoding, turns as tokens, and a streaming parser for the model's output.

Works on text and token ids only; no native code.
"""
