"""One generation, from a request to its events: what is read, decoded, committed, held back, stopped and published."""
