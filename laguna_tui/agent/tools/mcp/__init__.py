"""Tools of others: MCP servers that the user has named, each a process in the sandbox, offered behind our own tools."""
