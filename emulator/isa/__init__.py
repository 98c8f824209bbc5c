"""The instruction table: one documented row an opcode, and what each legal form does on a lane or a warp."""
