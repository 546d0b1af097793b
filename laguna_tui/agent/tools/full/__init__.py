"""The tools of models that read and change code, run commands and keep a list of steps."""
