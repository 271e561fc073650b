"""Reports of findings, one format a module, found by name: each exports `emitted`.

`emitted(report, codes)` gives the whole text of a report; `codes` are what all codes mean.
"""
