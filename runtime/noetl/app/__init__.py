"""Where adapters and shells are put together: the only package that knows both."""
