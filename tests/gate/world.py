# SPDX-License-Identifier: Apache-2.0
"""A network of the tests: brig's host in one network namespace, "the internet" in another.

Started by `unshare` as a process of its own, it reads commands as lines of JSON and answers each
with one. Nothing in it has a route to the real network.

    host (w0 10.77.0.2, and 93.184.216.40) ---- veth ---- outside (o0 10.77.0.1)
                                                          93.184.216.34, .35     public servers
                                                          192.168.7.7, 169.254.169.254
                                                          10.77.0.1:53           name server
"""

import base64
import ctypes
import hashlib
import http.server
import io
import json
import os
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import tarfile
import threading
import time
import zipfile

import hostile

CLONE_NEWNET = 0x40000000
IPV6_FREEBIND = 78
PUBLIC, OTHER, OWN = "93.184.216.34", "93.184.216.35", "93.184.216.40"
PRIVATE, METADATA = "192.168.7.7", "169.254.169.254"
OLD_PORT = 8444  # TLS as it was
KEY_PORT = 8448  # TLS with a key of its own
RETRY_PORT = 8450  # and as many second hellos as the number is greater
RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
PUBLIC6 = "2606:2800:220:1::34"
# More addresses of brig's host: the second of a network, a network that is the host's as a whole,
# the broadcast address, and the same by IPv6.
FIRST, SECOND, BROADCAST = "93.184.217.10", "93.184.217.11", "93.184.217.255"
WHOLE = "93.184.218.77"
FIRST6, SECOND6, WHOLE6 = "2606:2800:221::10", "2606:2800:221::11", "2606:2800:222::77"

NAMES = {
    "public.test": [PUBLIC],
    "other.test": [OTHER],
    "a.wild.test": [PUBLIC],
    "wild.test": [PUBLIC],
    "private.test": [PRIVATE],
    "meta.test": [METADATA],
    "loop.test": ["127.0.0.1"],
    "zero.test": ["0.0.0.0"],
    "own.test": [OWN],
    "first.own.test": [FIRST],
    "second.own.test": [SECOND],
    "broadcast.own.test": [BROADCAST],
    "whole.own.test": [WHOLE],
    "first6.own.test": [FIRST6],
    "second6.own.test": [SECOND6],
    "whole6.own.test": [WHOLE6],
    "mapped.own.test": ["::ffff:" + SECOND],
    "six.test": [PUBLIC6],
    "mapped.test": ["::ffff:" + PRIVATE],
    "nat64.test": ["64:ff9b::192.168.7.7"],
    "sixtofour.test": ["2002:c0a8:707::1"],
    "linklocal.test": ["fe80::1"],
    "ula.test": ["fd00:ec2::254"],
    "mixed.test": [PRIVATE, PUBLIC],
    "big.test": [PUBLIC],
    "api.test": [PUBLIC],
    "selfsigned.test": [PUBLIC],
    "wrongname.test": [PUBLIC],
    "client.test": [PUBLIC],
    "expired.test": [PUBLIC],
    "silent.test": None,
}


def make_packages():
    """One package each of an index for pip and of a registry for npm."""
    wheel, tarball = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        info = "tinypkg-1.0.dist-info"
        archive.writestr("tinypkg.py", "answer = 42\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tinypkg\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    with tarfile.open(fileobj=tarball, mode="w:gz") as archive:
        for name, text in (("package.json", '{"name": "tinynpm", "version": "1.0.0"}'),
                           ("index.js", "module.exports = 42;\n")):
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    name = "tinypkg-1.0-py3-none-any.whl"
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball.getvalue()).digest()).decode()
    registry = {
        "name": "tinynpm", "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {"name": "tinynpm", "version": "1.0.0", "dist": {
            "tarball": "http://public.test/tinynpm/-/tinynpm-1.0.0.tgz", "integrity": integrity}}},
    }
    return {
        "/simple/tinypkg/": f'<a href="/files/{name}">{name}</a>'.encode(),
        f"/files/{name}": wheel.getvalue(),
        "/tinynpm": json.dumps(registry).encode(),
        "/tinynpm/-/tinynpm-1.0.0.tgz": tarball.getvalue(),
    }


def sh(line):
    subprocess.run(line.split(), check=True, stdin=subprocess.DEVNULL)


PACKAGES = make_packages()


# --- outside -----------------------------------------------------------------------------------


class Outside:
    def __init__(self, certificate):
        self.visits = []
        self.asked = []
        self.turns = {}
        self.certificate = certificate
        self.spray = None

    def note(self, sock, first=b""):
        address, port = sock.getsockname()[:2]
        self.visits.append([address, port, first[:4096].decode("latin-1")])

    def choose(self, sock, name, context):
        """Some names have certificates of their own, which are invalid."""
        file = os.path.join(os.path.dirname(self.certificate), f"{name}.pem")
        if not os.path.exists(file):
            return
        other = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        other.load_cert_chain(file)
        sock.context = other

    def serve(self, port, handler):
        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            address_family = socket.AF_INET6
            request_queue_size = 256

            def server_bind(self):
                self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                super().server_bind()

        server = Server(("::", port), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def start(self):
        outside = self

        class Web(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                outside.note(self.connection)

            def handle_one_request(self):
                super().handle_one_request()

            def do_GET(self):
                text = json.dumps({"path": self.path, "headers": dict(self.headers),
                                   "at": self.connection.getsockname()[0]})
                outside.visits[-1][2] += self.requestline + "\n"
                size = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(size) if size else b""
                if self.headers.get("Transfer-Encoding") == "chunked":
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                if self.path.startswith("/bytes/"):
                    data = b"x" * int(self.path.split("/")[2])
                elif self.path == "/size":
                    data = str(len(body)).encode()
                elif self.path == "/echo":
                    data = body
                elif self.path in PACKAGES:
                    data = PACKAGES[self.path]
                else:
                    data = text.encode()
                self.send_response(200)
                if self.path in ("/clean", "/ragged"):
                    self.send_header("Connection", "close")
                    self.end_headers()
                    self.wfile.write(b"as long as it lasts")
                    self.wfile.flush()
                    if self.path == "/clean":
                        self.connection.unwrap()
                    self.close_connection = True
                    return
                kinds = {"<": "text/html", "{": "application/json"}
                self.send_header("Content-Type",
                                 kinds.get(data[:1].decode("latin-1"), "application/octet-stream"))
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_GET

            def do_TRACE(self):
                """As some servers do: the response is the request itself."""
                data = f"{self.requestline}\r\n{self.headers}".encode()
                self.send_response(200)
                self.send_header("Content-Type", "message/http")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        class SecureWeb(Web):
            def setup(self):
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(outside.certificate)
                if self.request.getsockname()[1] == OLD_PORT:
                    context.set_ciphers("ALL:@SECLEVEL=0")
                    context.minimum_version = ssl.TLSVersion.TLSv1
                    context.maximum_version = ssl.TLSVersion.TLSv1_1
                if self.curve:
                    context.set_ecdh_curve(self.curve)
                context.sni_callback = outside.choose
                try:
                    self.request = context.wrap_socket(self.request, server_side=True)
                except OSError as error:
                    outside.visits.append(["tls", 443, str(error)])
                    self.failed = True
                super().setup()

            failed, curve = False, None

            def handle(self):
                try:
                    if not self.failed:
                        super().handle()
                except OSError:
                    pass

        class Echo(socketserver.BaseRequestHandler):
            def handle(self):
                outside.note(self.request)
                while data := self.request.recv(65536):
                    self.request.sendall(data)

        class First(socketserver.BaseRequestHandler):
            """Sends first, as mail servers do."""

            def handle(self):
                outside.note(self.request)
                self.request.sendall(b"220 hello\r\n")
                self.request.sendall(b"got " + self.request.recv(100))

        class KeyWeb(SecureWeb):
            """Requests another key than clients send at first: a HelloRetryRequest."""

            curve = "secp384r1"

        class Retry(socketserver.BaseRequestHandler):
            """The beginning of TLS by hand: requests this many second hellos, byte by byte, and
            then echoes."""

            def answer(self, random):
                body = b"\3\3" + random + b"\0\x13\1\0\0\0"
                message = b"\2" + len(body).to_bytes(3, "big") + body
                data = b"\x14\3\3\0\1\1"
                for part in (message[:7], message[7:]):
                    data += b"\x16\3\3" + len(part).to_bytes(2, "big") + part
                self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for i in range(len(data)):
                    self.request.sendall(data[i:i + 1])

            def hear_hello(self):
                """All records up to one whole ClientHello."""
                message = b""
                while len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4], "big"):
                    head = self.request.recv(5, socket.MSG_WAITALL)
                    body = self.request.recv(int.from_bytes(head[3:5], "big"), socket.MSG_WAITALL)
                    outside.visits[-1][2] += (head + body).decode("latin-1")
                    if not body:
                        raise ConnectionResetError
                    message += body if head[0] == 22 else b""
                outside.visits[-1][2] += "|"

            def handle(self):
                outside.note(self.request)
                try:
                    self.talk()
                except ConnectionError:
                    pass

            def talk(self):
                times = self.request.getsockname()[1] - RETRY_PORT
                for turn in range(times + 1):
                    self.hear_hello()
                    self.answer(RETRY if turn < times else bytes(32))
                while data := self.request.recv(65536):
                    outside.visits[-1][2] += data.decode("latin-1")
                    self.request.sendall(data)

        for times in range(3):
            self.serve(RETRY_PORT + times, Retry)
        self.serve(KEY_PORT, KeyWeb)
        self.serve(80, Web)
        self.serve(8080, Web)
        self.serve(443, SecureWeb)
        self.serve(8443, SecureWeb)
        self.serve(OLD_PORT, SecureWeb)
        self.serve(7000, Echo)
        self.serve(2525, First)
        self.serve(9999, Echo)
        hostile.start(self)
        threading.Thread(target=self.names_by_udp, daemon=True).start()
        threading.Thread(target=self.names_by_tcp, daemon=True).start()
        udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        udp.bind(("::", 5353))
        threading.Thread(target=self.datagrams, args=(udp,), daemon=True).start()

    def datagrams(self, udp):
        while True:
            data, _ = udp.recvfrom(4096)
            self.visits.append(["udp", 5353, data.decode("latin-1")])

    def addresses(self, name):
        """A list of lists is one reply after the other: that is rebinding. So is a "cycle", for
        ever."""
        found = NAMES.get(name)
        if isinstance(found, dict) and "cycle" in found:
            self.turns[name] = turn = self.turns.get(name, -1) + 1
            return found["cycle"][turn % len(found["cycle"])]
        if isinstance(found, list) and found and isinstance(found[0], list):
            turn = self.turns.get(name, 0)
            self.turns[name] = turn + 1
            return found[min(turn // 2, len(found) - 1)]
        return found

    @staticmethod
    def records(found, kind):
        """A reply as the test wrote it: owners, types and all."""
        def wire(name):
            return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"

        whole, count = b"", 0
        for owner, type_, ttl, data in found["records"]:
            if type_ in (1, 28) and type_ != kind:
                continue
            family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(type_)
            data = socket.inet_pton(family, data) if family else wire(data)
            whole += wire(owner) + struct.pack(">HHIH", type_, 1, ttl, len(data)) + data
            count += 1
        return whole + bytes.fromhex(found.get("tail", "")), count + found.get("claims", 0)

    def answer(self, query, by_tcp):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
            at += 1 + query[at]
        name = ".".join(labels)
        kind = struct.unpack(">H", query[at + 1:at + 3])[0]
        question = query[12:at + 5]
        self.asked.append([name, kind])
        if name in NAMES and NAMES[name] is None:
            return None
        found = self.addresses(name)
        if found is None:
            return query[:2] + b"\x81\x83" + b"\0\1\0\0\0\0\0\0" + question
        if name == "big.test" and not by_tcp:
            return query[:2] + b"\x83\x80" + b"\0\1\0\0\0\0\0\0" + question
        if isinstance(found, dict):
            records, count = self.records(found, kind)
            flags = b"\x83\x80" if found.get("cut") else b"\x81\x80"
            return query[:2] + flags + struct.pack(">HHHH", 1, count, 0, 0) + question + records
        records = b""
        count = 0
        for address in found:
            six = ":" in address
            if kind != (28 if six else 1):
                continue
            data = socket.inet_pton(socket.AF_INET6 if six else socket.AF_INET, address)
            records += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 1, len(data)) + data
            count += 1
        return query[:2] + b"\x81\x80" + struct.pack(">HHHH", 1, count, 0, 0) + question + records

    def names_by_udp(self):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("10.77.0.1", 53))
        while True:
            query, who = udp.recvfrom(4096)
            answer = self.answer(query, False)
            if answer:
                # A reply from another address comes first: it must not be accepted.
                forged = bytes([query[0] ^ 1]) + answer[1:].replace(
                    socket.inet_aton(PUBLIC), socket.inet_aton(PRIVATE))
                udp.sendto(forged, who)
                udp.sendto(answer, who)

    def names_by_tcp(self):
        tcp = socket.create_server(("10.77.0.1", 53))
        while True:
            with tcp.accept()[0] as one:
                try:
                    size = struct.unpack(">H", one.recv(2))[0]
                    answer = self.answer(one.recv(size), True) or b""
                    one.sendall(struct.pack(">H", len(answer)) + answer)
                except (OSError, struct.error, IndexError):
                    pass  # a gate that ends in the middle must not end this server

    def orders(self, line):
        for text in line:
            order = json.loads(text)
            if order["op"] == "visits":
                time.sleep(0.05)
                answer = {"visits": self.visits[:], "asked": self.asked[:]}
                self.visits.clear()
                self.asked.clear()
                self.turns.clear()
            else:
                NAMES[order["name"]] = order["addresses"]
                answer = {}
            line.write(json.dumps(answer) + "\n")
            line.flush()


def outside_main(line, certificate):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    line.write("ready\n")
    line.flush()
    line.readline()
    sh("ip link set lo up")
    for address in (PUBLIC, OTHER, PRIVATE, METADATA):
        sh(f"ip addr add {address}/32 dev lo")
    sh("ip addr add 10.77.0.1/24 dev o0")
    sh(f"ip -6 addr add {PUBLIC6}/128 dev lo nodad")
    sh("ip -6 addr add fd77::1/64 dev o0 nodad")
    sh("ip link set o0 up")
    sh(f"ip route add {OWN}/32 via 10.77.0.2")
    sh("ip route add 93.184.217.0/24 via 10.77.0.2")
    sh("ip -6 route add 2606:2800:221::/64 via fd77::2")
    outside = Outside(certificate)
    outside.start()
    line.write("up\n")
    line.flush()
    outside.orders(line)


# --- the host -----------------------------------------------------------------------------------


def bind(text, path, directory):
    source = os.path.join(directory, os.path.basename(path))
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    sh(f"mount --bind {source} {os.path.realpath(path)}")


def run(order):
    argv = order["argv"]
    if os.geteuid() != 0:
        argv = ["setpriv", "--ambient-caps=-all", "--inh-caps=-all", "--", *argv]
    try:
        done = subprocess.run(argv, input=order.get("input", "").encode(), capture_output=True,
                              timeout=order.get("timeout", 60), check=False,
                              env=dict(os.environ, **order.get("env", {})))
    except subprocess.TimeoutExpired as late:
        return {"status": -1, "stdout": (late.stdout or b"").decode(), "stderr": "late"}
    return {"status": done.returncode, "stdout": done.stdout.decode("utf-8", "replace"),
            "stderr": done.stderr.decode("utf-8", "replace")}


def main():
    directory, certificate = sys.argv[1:3]
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        os.dup2(2, 1)
        outside_main(theirs.makefile("rw"), certificate)
        os._exit(0)
    theirs.close()
    outside = ours.makefile("rw")
    outside.readline()
    sh("ip link set lo up")
    sh("ip link add w0 type veth peer name o0")
    sh(f"ip link set o0 netns {pid}")
    sh("ip addr add 10.77.0.2/24 dev w0")
    sh(f"ip addr add {OWN}/32 dev lo")
    sh("ip -6 addr add fd77::2/64 dev w0 nodad")
    for address in (FIRST, SECOND):
        sh(f"ip addr add {address}/24 broadcast {BROADCAST} dev w0")
    for address in (FIRST6, SECOND6):
        sh(f"ip -6 addr add {address}/64 dev w0 nodad")
    sh("ip route add local 93.184.218.0/24 dev lo")
    sh("ip -6 route add local 2606:2800:222::/64 dev lo")
    sh("ip link set w0 up")
    outside.write("go\n")
    outside.flush()
    outside.readline()
    sh("ip route add default via 10.77.0.1")
    sh("ip -6 route add default via fd77::1")
    bind("nameserver 10.77.0.1\n", "/etc/resolv.conf", directory)
    bind("127.0.0.1 localhost\n10.77.0.1 filed.test\n", "/etc/hosts", directory)

    class Inside(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"of this host")

        def log_message(self, *args):
            pass

    class Inside6(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6

        def server_bind(self):
            # Without it only addresses of interfaces can be bound to.
            self.socket.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
            super().server_bind()

    for address in ("127.0.0.1", OWN, "10.77.0.2", FIRST, SECOND, WHOLE, FIRST6, SECOND6, WHOLE6):
        kind = Inside6 if ":" in address else http.server.ThreadingHTTPServer
        server = kind((address, 8099), Inside)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    for text in sys.stdin:
        order = json.loads(text)
        if order["op"] == "run":
            answer = run(order)
        elif order["op"] == "host":
            sh(order["line"])
            answer = {}
        else:
            outside.write(text)
            outside.flush()
            answer = json.loads(outside.readline())
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
