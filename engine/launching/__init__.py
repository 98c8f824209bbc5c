"""What a launch needs before it may run: its entry, its configuration within the limits, its arguments as bytes."""
