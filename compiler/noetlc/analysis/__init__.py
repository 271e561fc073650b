"""Questions about what can happen in a net before it runs, about a Petri net, answered three-valued and with a run.

Everything works on `petri.Petri`, a plain place/transition net; `skeleton` makes one of a plan, `source.pnml_reader` of
a PNML file. The README beside this file says which module does what.
"""
