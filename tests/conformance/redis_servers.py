"""Redis servers to be killed, frozen and joined: one, a group that Sentinels watch, and a Cluster."""

import os
import signal
import time

import redis

from fetch import ServerError
from server import as_server_user, free_port
from services import Redis

JOINING_SECONDS = 120


class Mortal(Redis):
    """A server that a test may kill or freeze."""

    def __init__(self, *options):
        super().__init__()
        self._options = options

    def command(self):
        return [*super().command(), *self._options]

    def send(self, number):
        os.kill(self._process.pid, number)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def stop(self):
        if self._process is not None and self._process.poll() is None:
            self.send(signal.SIGCONT)
        super().stop()

    @property
    def client(self):
        return redis.Redis(port=self.port, socket_timeout=60)


class Sentinel(Mortal):
    """Watches a group and makes a replica its master when the master is gone."""

    def __init__(self, master):
        super().__init__()
        self._master = master

    def command(self):
        settings = self.data / "sentinel.conf"
        settings.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {self.data}\n"
            f"sentinel monitor jays 127.0.0.1 {self._master.port} 2\n"
            "sentinel down-after-milliseconds jays 400\nsentinel failover-timeout jays 2000\n"
        )
        if user := as_server_user():
            os.chown(settings, user["user"], user["group"])
        return [str(self._program), str(settings), "--sentinel"]


class Group:
    """A master, a replica, and three Sentinels."""

    def __init__(self, running):
        self.master = _started(running, Mortal())
        self.replica = _started(running, Mortal("--replicaof", "127.0.0.1", str(self.master.port)))
        self.sentinels = [_started(running, Sentinel(self.master)) for _ in range(3)]
        self.url = f"redis+sentinel://{_hosts(self.sentinels)}/jays"
        _wait_until(lambda: self.replica.client.info("replication")["master_link_status"] == "up")
        for sentinel in self.sentinels:
            _wait_until(lambda sentinel=sentinel: _sees_all(sentinel))


class Cluster:
    """Three masters that share the keys."""

    def __init__(self, running):
        ports = [free_port() for _ in range(3)]
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--databases", "1")
        self.nodes = [_started(running, Mortal(*options, "--cluster-port", str(port))) for port in ports]
        self.url = f"redis+cluster://{_hosts(self.nodes[:2])}"
        first = self.nodes[0].client
        for number, node in enumerate(self.nodes):
            start, stop = 16384 * number // 3, 16384 * (number + 1) // 3 - 1
            node.client.execute_command("CLUSTER", "ADDSLOTSRANGE", start, stop)
            node.client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if number:
                first.execute_command("CLUSTER", "MEET", "127.0.0.1", node.port, ports[number])
        for node in self.nodes:
            _wait_until(lambda node=node: _is_joined(node))


def _started(running, server):
    running.callback(server.stop)
    server.start()
    return server


def _hosts(servers):
    return ",".join(f"127.0.0.1:{server.port}" for server in servers)


def _sees_all(sentinel):
    [state] = sentinel.client.sentinel_masters().values()
    return state["num-other-sentinels"] == 2 and state["num-slaves"] == 1


def _is_joined(node):
    info = node.client.cluster("info")
    return (info["cluster_state"], info["cluster_known_nodes"]) == ("ok", "3")


def _wait_until(holds):
    deadline = time.monotonic() + JOINING_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise ServerError("the Redis servers did not find each other")
        time.sleep(0.05)
