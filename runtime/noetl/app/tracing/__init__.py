"""Traces of executions, made of their logs: a span for each step run, task and attempt."""
