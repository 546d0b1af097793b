"""Kept sessions: the picker, its questions, and the controller that resumes, renames and forks."""
