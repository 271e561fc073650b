"""The server side: the only writer of logs. It records what reaches it, decides, commits, then orders."""
