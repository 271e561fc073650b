"""Where secret values come from: keychain entries, resolved by name at use, and the encrypted credential store.

Values go to tools and nowhere else: they are in no plan, event, result, log or error (LANGUAGE §7).
"""
