"""The engine: llama.cpp in this process, on one thread, with typed events. Usable without the application.

Importing the package is cheap; llama.cpp is loaded when `laguna_engine.engine` is imported.
"""
