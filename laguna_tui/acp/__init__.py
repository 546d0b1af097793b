"""The agent in editors: the Agent Client Protocol over stdin and stdout (`laguna-tui acp`)."""
