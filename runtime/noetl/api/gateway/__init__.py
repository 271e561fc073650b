"""One address for several groups of servers, each with a database and a bus of its own."""
