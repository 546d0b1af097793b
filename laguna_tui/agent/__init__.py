"""The agent: a question travels to the engine and the tools and comes back as typed events. It draws nothing."""
