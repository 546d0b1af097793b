"""The model over HTTP, as OpenAI's and Anthropic's clients speak: `laguna-tui serve`, and `/serve` in the TUI."""
