"""The compiler: playbook source in, verified Petri-net plan out."""
