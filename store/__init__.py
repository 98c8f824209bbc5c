"""What outlives a process: settings, database, queue state in Redis, blobs, examples; for app, worker and cli."""
