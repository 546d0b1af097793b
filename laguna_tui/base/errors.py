"""The error whose message is shown to the user."""


class UserError(Exception):
    """A setting, a path or an argument is wrong; the message is the whole sentence to show, and says what to do.

    Attributes:
        in_app: the sentence for the app's screen, where what to do differs from the command line; else empty.
    """

    in_app = ""
