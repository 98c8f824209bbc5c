"""How long a launch would take on a GPU, estimated from its blocks: never a measurement."""
