"""Pictures of playbooks, nets and state spaces.

    level (steps, net, states) → painters (story, execution) → regions → format (mermaid, dot, svg, png, html, json)

A level makes a `Picture`; painters and folding change it; each format writes it. `layout` knows sizes and links only.
"""
