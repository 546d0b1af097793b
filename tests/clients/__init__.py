"""Programs of others against our doors, each installed into a folder of its own: `python -m tests.clients NAME`.

They come from PyPI and npm, so they are no part of the test run. The model follows a script: it reads a file, changes
it and says so, in the words of each program's tools.
"""
