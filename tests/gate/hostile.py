# SPDX-License-Identifier: Apache-2.0
"""Hostile hosts in the network of world.py: most of them behind valid TLS."""

import os
import socketserver
import ssl
import time

SILENT, HEAD, BODY, TWICE, CHAIN, INTERIM, FLOOD, MUTE = range(8460, 8468)
CHAIN_LENGTH = 1000
FILL = b"x" * 60000


def make_chain(certificate):
    """A valid certificate, and very many more."""
    directory = os.path.dirname(certificate)
    with open(os.path.join(directory, "api.test.pem"), encoding="ascii") as file:
        leaf = file.read()
    with open(os.path.join(directory, "ca.pem"), encoding="ascii") as file:
        more = file.read()
    path = os.path.join(directory, "chain.pem")
    with open(path, "w", encoding="ascii") as file:
        file.write(leaf + more * CHAIN_LENGTH)
    return path


def until_gone(connection, piece):
    while True:
        connection.sendall(piece)


def answer(connection, head, body):
    connection.sendall(head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def silent(connection):
    time.sleep(600)


def endless_head(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    until_gone(connection, b"X-More: " + FILL + b"\r\n")


def endless_body(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    until_gone(connection, b"%x\r\n%s\r\n" % (len(FILL), FILL))


def twice(connection):
    """The second response is for the next request on this connection, if there is one."""
    answer(connection, b"HTTP/1.1 200 OK", b"mine")
    answer(connection, b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b", b"poison")
    time.sleep(1)


def interim(connection):
    for _ in range(1000):
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
    answer(connection, b"HTTP/1.1 200 OK", b"after all")


def flood(connection):
    until_gone(connection, FILL)


TALKS = {SILENT: silent, HEAD: endless_head, BODY: endless_body, TWICE: twice, CHAIN: twice,
         INTERIM: interim}
IN_CLEAR = {FLOOD: flood, MUTE: silent}


def handler_of(note, file, talk):
    class Hostile(socketserver.BaseRequestHandler):
        def handle(self):
            try:
                connection = self.request
                if file:
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    context.load_cert_chain(file)
                    connection = context.wrap_socket(connection, server_side=True)
                    note(connection, connection.recv(65536))
                talk(connection)
            except OSError:
                pass  # the gate has closed it

    return Hostile


def start(outside):
    chain = make_chain(outside.certificate)
    good = os.path.join(os.path.dirname(chain), "api.test.pem")
    for port, talk in TALKS.items():
        outside.serve(port, handler_of(outside.note, chain if port == CHAIN else good, talk))
    for port, talk in IN_CLEAR.items():
        outside.serve(port, handler_of(outside.note, None, talk))
