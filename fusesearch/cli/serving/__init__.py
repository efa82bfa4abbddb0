"""The MCP server of ``fusesearch mcp`` and its two transports."""
