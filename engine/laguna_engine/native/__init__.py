"""The binding to llama.cpp: loading the library, prototypes, struct layouts, abort handling, child processes."""
