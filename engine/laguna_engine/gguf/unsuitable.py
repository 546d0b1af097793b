"""The other way a file can fail: it is what it says, and that is not what the engine can run."""


class Unsuitable(Exception):
    """The file is whole but of the wrong kind; the text continues the file's name and ends in what to do."""
