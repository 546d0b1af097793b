"""What a session may do without asking: modes, rules and the policy made of them."""
