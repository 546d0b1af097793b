"""Speculative decoding: draft-verify rounds, the choice of drafter and length, measured costs and acceptance."""
