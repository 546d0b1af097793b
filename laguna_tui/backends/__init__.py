"""Who generates: an endpoint elsewhere, told in messages. The engine here is told in tokens, by the agent."""
