"""The HTTP side: validates, queues, streams events, keeps shares; never sees a kernel execute."""
