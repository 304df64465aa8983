"""Where tasks are: their nodes, addresses and ports, and the ways to these."""
