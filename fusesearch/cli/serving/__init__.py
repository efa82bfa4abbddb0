"""The MCP server of ``fusesearch mcp``: its tools, and its transport over stdin and stdout."""
