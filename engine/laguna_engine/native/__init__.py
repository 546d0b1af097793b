"""The one room that knows llama.cpp's symbols: where the library is, how each function is called, how it fails."""
