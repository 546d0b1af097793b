"""Checks whether this machine computes correctly and what is missing: doctor, selfcheck, the graphics card's build."""
