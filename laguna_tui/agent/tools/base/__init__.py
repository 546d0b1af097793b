"""What every tool set is made of: arguments, results, the search over lines, edits, the guard."""
