"""Triggers: a playbook that is started when something happens.

`document` reads what a person wrote, `signatures` knows whether a request comes from who shares a secret, `mapping`
makes inputs of what has happened, and `starter` starts. What has happened has one start, whichever servers live: the
start has a key made of the trigger and of what has happened, which a store takes once.
"""
