"""The front end without a screen: a turn's events as text or JSON, for pipes, scripts and CI."""
