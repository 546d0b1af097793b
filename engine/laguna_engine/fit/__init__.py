"""What fits where: devices, a model's bytes on them, the plan they allow, and what to try when that fails anyway."""
