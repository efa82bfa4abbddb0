"""The MCP server behind ``fusesearch mcp``: what it offers, and the two transports it is reached over."""
