"""Tests of playbooks (`*.test.yaml`): reading them, and what of a playbook they can reach."""
