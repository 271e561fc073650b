"""Tables that `tools/gen` writes, and nobody edits: each says what it is made from.

They spare every command the making: lark's work on the grammar, importing the rules to know their codes, and reading
`schema/playbook.md`. A test fails while one is stale.
"""
