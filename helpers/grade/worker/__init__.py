"""What runs in the sandbox: a notebook's cells and its functions. Nothing here is trusted."""
