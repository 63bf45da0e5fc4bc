"""The course's own code beside its peers, measured in one run: `./course bench NAME`."""
