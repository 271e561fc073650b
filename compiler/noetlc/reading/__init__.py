"""Nodes of a document into the syntax tree, one module per construct.

A reader never raises and never stops at a finding: it reports and goes on with the part it understood. Which
keys a construct has is not written here but in the tables that `noetlc.dialects` puts together.
"""
