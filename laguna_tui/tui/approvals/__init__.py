"""What the agent asks: the panel that asks for permission, the editor of what was proposed, modes and plans."""
