"""Placement: devices, a model's memory use on them, the best plan, and fallbacks when memory runs out anyway."""
