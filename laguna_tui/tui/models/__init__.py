"""The screens about models: choosing one, and getting one."""
