"""The models the app knows: the catalogue, their download and conversion, and the store of their files."""
