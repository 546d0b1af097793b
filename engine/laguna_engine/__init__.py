"""The engine: llama.cpp in this process, one thread, typed events. Useful without the application.

Importing the package is cheap; llama.cpp is loaded when `laguna_engine.engine` is imported.
"""
