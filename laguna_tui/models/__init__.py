"""The models the app knows: what they are called, where their file is and how they like to be run."""
