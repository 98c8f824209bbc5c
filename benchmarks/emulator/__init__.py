"""What `warpyard bench emulator` runs."""
