"""MCP client programs: how each is configured to use this memory."""
