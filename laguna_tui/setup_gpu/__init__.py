"""`laguna-tui setup gpu`: the llama.cpp that can use this machine's graphics card, in place of the one that cannot.

A prebuilt wheel is fetched, tried beside what is installed, and only then installed; what was there is kept and comes
back by itself when anything fails, or when it is asked for.
"""
