"""Output forms, one module each: of a plan its bytes and JSON, of a playbook its canonical source and
pictures.
"""
