"""The command `./course`: a file a command, the set-up, how lessons are built, and the site."""
