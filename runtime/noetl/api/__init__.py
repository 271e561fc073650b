"""The REST API of a server: routes over a service, in front of which stands the authorization.

`application` makes the ASGI application. Nothing in here knows a store, a bus or a thread: `ApiService` does.
"""
