"""Lowering of today's sugar: `choose`, `while`, `until`; that of older dialects is in `noetlc.older`.

A pass is a function of its module's name: `pass(playbook, note) -> playbook`. It takes the sugar that its row in
`noetlc.older.passes` removes (`noetlc.ast.sugar`) out of the tree, puts tasks, rules and arcs in its place, and tells
`record` of each change with its class. What it makes has a name that begins with `__`, a function of names in the
source, and the span of the construct it came from. Passes do not know each other; what several need is in
`noetlc.expr`: `generated`, `counting`, `shorthand`, `templates`.
"""
