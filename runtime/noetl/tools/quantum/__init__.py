"""The quantum tool: circuits, a simulator of their state vector, and jobs (formal-extended §11)."""

from noetl.tools.quantum.tool import run as run
