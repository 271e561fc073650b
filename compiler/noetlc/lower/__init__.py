"""Lowering of today's sugar: `choose`, `while`, `until`; that of older dialects is in `noetlc.older`.

A pass is a function with the name of its module: `pass(playbook, record) -> playbook`. It replaces the sugar nodes
(`noetlc.ast.sugar`) that its row in `noetlc.older.passes` names by tasks, rules and arcs, and calls `record` for each
change, with the change's class. A generated task has the span of the construct that it was made from, and a name that
begins with `__` and depends on names of the source alone, so that the same source always gives the same plan. Passes do
not know each other; what several need is in `noetlc.expr`: `generated`, `counting`, `shorthand`, `templates`.
"""
