"""What generates answers: the engine in this process (`local`), or an OpenAI-compatible endpoint (`remote`)."""
