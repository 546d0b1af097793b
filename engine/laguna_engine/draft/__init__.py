"""Who proposes tokens: a small model that reads the target's hidden states, and copying from what is already there."""
