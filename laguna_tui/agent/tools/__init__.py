"""The tools the model may call: all but one only look. One file a tool; the registry puts them together."""
