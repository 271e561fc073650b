"""Tool kinds, one module each: `async def run(call, env) -> Outcome`. Not the developers' scripts, `tools/`.

A tool gets its fields rendered, returns exactly one outcome and raises nothing but cancellation. Where an
optional library is not installed, the outcome is the error `extra.missing`, which names the extra to install.
Tools are strangers to each other: what several need lies in `noetl.clients` and `noetl.host`.
"""
