"""Tests of playbooks (`noetl test`): running a case, holding it against what it expects, and what was covered."""
