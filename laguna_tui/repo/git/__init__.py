"""Queries to git that run nothing of the repository's, and commits."""
