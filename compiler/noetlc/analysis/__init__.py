"""What can happen in a net before it runs: questions about a Petri net, answered three-valued and with a run.

Everything works on `petri.Petri`, a plain place/transition net; `skeleton` makes one of a plan, `source.pnml_reader`
of a PNML file. Modules are nouns and import only what stands further down: report, soundness, queries → story, script,
guards → skeleton → stubborn, reductions, coverability, reachability → packing, components, petri.
"""
