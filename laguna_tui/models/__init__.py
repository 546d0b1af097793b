"""The models the app knows: what they are called, how they like to be run, and getting and keeping their files."""
