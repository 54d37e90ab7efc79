"""The client: the memory of a server, with the verbs and the values of the library.

    import scrubjay.client

    with scrubjay.client.connect("http://127.0.0.1:7285", key="sj_…") as jay:
        jay.remember("Prefers tabs over spaces", user="u-42", kind="preference", key="pref:indent")

A program moves from its own file to a server by opening the memory here instead of with `scrubjay.open()`.
"""

from scrubjay.errors import Misconfigured

try:
    from scrubjay.client.opening import connect, connect_async
    from scrubjay.client.service import RemoteScrubjay
except ModuleNotFoundError as error:
    raise Misconfigured(
        f"the client needs {error.name}, which is not installed: pip install 'scrubjay[client]'"
    ) from error

__all__ = ["RemoteScrubjay", "connect", "connect_async"]
