"""What the app tells a user who asked for something it cannot do. The message is the whole sentence to show."""


class UserError(Exception):
    """A setting, a path or an argument is wrong; the message says which and what to do."""
