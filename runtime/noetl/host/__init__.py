"""The machine that a process runs on: its processes, files, disk, environment and secrets, and what it can run."""
