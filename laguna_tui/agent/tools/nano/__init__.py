"""The tools of the bundled model, which answers by repeating short lists, and what holds it to them."""
