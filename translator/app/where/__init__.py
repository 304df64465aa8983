"""The nodes, addresses, ports and web pages of tasks."""
