"""The agent: questions go to the engine and the tools, typed events come back. It draws nothing."""
