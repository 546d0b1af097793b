"""What a session did to the files of its folder, so that it can be undone, also after a crash."""
