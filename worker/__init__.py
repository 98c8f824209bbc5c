"""The trusted supervisor of jobs: takes runs from the queue, drives the sandbox, writes their events."""
