"""The files of a folder: found, opened without following links, decoded, classified and replaced."""
