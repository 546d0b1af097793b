"""Many answers to many prompts, each with its reward and its tokens: what training by reinforcement begins with."""
