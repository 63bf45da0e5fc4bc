"""What the commands of `./course` do, one file a command."""
