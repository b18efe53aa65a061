"""Tools of MCP servers that the owner lists in their own config."""
