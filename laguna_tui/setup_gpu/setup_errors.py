"""What can go wrong while a build is exchanged."""


class SetupFailed(Exception):
    """It was not done, and what was installed before is there again; the message says why and what to do."""


class NotOffered(SetupFailed):
    """An index has no wheel of this version for this machine; another index may."""
