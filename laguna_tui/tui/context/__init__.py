"""What the user sees and decides of the prompt: mentions while typing, what sending costs, the context by blocks."""
