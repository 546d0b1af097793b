"""The front end without a screen: the events of a turn as text or JSON, for pipes, scripts and CI."""
