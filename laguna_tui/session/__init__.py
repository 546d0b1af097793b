"""One chat as every front end sees it: the protocol, and the session with a model in this process."""
