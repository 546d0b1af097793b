"""The features of the app: each follows the session, and updates the widgets and screens that show it."""
