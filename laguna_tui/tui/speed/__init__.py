"""The speed views: the numbers of the last answer, the drafts of its rounds, and their controller."""
