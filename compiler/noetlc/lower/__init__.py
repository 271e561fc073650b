"""Lowering: a room for passes from a syntax tree with sugar to one without, one verb per module.

Empty while the canonical form is all that is read. A pass takes a playbook and gives one; the sugar it
removes is listed in its row of `noetlc.pipeline` (`noetlc.ast.sugar` has the mechanism).
"""
