"""`laguna-tui doctor`: the machine's hardware and software, what laguna-tui can use of it, and how to fix the rest.

Small probes gather facts through a `Host`; each check turns facts into findings and does nothing else. Nothing here
opens a socket, waits without a limit, or shows a secret.
"""
