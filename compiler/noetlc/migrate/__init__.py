"""Migration: legacy source rewritten as canonical source, by edits that leave alone what no pass touched."""
