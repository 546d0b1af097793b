"""The everyday tasks of a newcomer, walked through in a real terminal; see README.md."""
