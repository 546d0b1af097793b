"""GGUF files, read and checked in Python before native code opens them."""
