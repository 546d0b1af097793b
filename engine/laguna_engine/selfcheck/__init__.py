"""Checks of this machine with real files: what llama.cpp allocates, its taps, a drafter against float64."""
