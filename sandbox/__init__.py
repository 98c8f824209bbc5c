"""The wall: everything that stands between a user's code and this machine."""
