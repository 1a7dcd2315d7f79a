"""The old name of `mcp_bridge.proxy`: client configurations of earlier releases start `python -m mcp_bridge.thin`."""

from mcp_bridge.proxy import main

if __name__ == "__main__":
    main()
