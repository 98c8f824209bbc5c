"""What crosses process boundaries: requests, events and results; imports nothing else of the project."""
