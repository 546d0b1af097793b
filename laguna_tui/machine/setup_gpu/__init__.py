"""`laguna-tui setup gpu`: replaces llama.cpp by the build that can use this machine's graphics card.

A prebuilt wheel is downloaded, tried beside the installed build, and only then installed. The previous build is kept
and restored when anything fails, or on request.
"""
