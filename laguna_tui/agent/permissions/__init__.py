"""What a tool may do: modes, rules, and the policy that decides with them."""
