"""Models: the picker, the setup screen with its download, the fit and plan screens, and their controller."""
