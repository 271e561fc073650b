"""The canonical syntax tree becomes a plan: a net (`NET.md` in `schema/README.md`) and the tables that go
with it.
"""
