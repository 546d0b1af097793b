"""What the KV cache holds, and what a change of the prompt would cost."""
