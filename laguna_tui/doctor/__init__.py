"""`laguna-tui doctor`: what this machine has, what laguna-tui can make of it, and what to do where it cannot.

Small probes gather facts from a `Host`; each check turns facts into findings and does nothing else. Nothing here
opens a socket, waits without a limit, or shows a secret.
"""
