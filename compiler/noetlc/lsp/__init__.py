"""The language server: an editor's questions about playbooks, answered by what the compiler knows (`noetlc lsp`).

`server` speaks the protocol; every other module answers one sort of question about a text, and touches neither files
nor a clock. Files come through `project.Project`, which the command line implements.
"""
