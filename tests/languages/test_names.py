# SPDX-License-Identifier: Apache-2.0
"""Without a network each language's own name lookup ends soon, and is reported."""

import shutil

import pytest

NAME = "host.example.org"
# Looks up a name, and continues without an answer. Each ends well. (Go looks up names as curl does:
# it is left out, since compiling its package takes a minute.)
ASKS = {
    "c": "#include <netdb.h>\n#include <stdio.h>\n"
         "int main(void) { struct addrinfo *r;\n"
         f"puts(getaddrinfo(\"{NAME}\", \"80\", 0, &r) == EAI_NONAME ? \"true\" : \"other\"); }}",
    # It turns options of groups off on each socket for datagrams: see that one works, too.
    "java": "import java.net.*; public class Ask { public static void main(String[] a)\n"
            "throws Exception { try (DatagramSocket s = new DatagramSocket(0,\n"
            "InetAddress.getLoopbackAddress()); DatagramSocket c = new DatagramSocket()) {\n"
            "c.send(new DatagramPacket(\"true\".getBytes(), 4, s.getLocalSocketAddress()));\n"
            "DatagramPacket p = new DatagramPacket(new byte[9], 9); s.receive(p);\n"
            f"try {{ System.out.println(InetAddress.getByName(\"{NAME}\")); }}\n"
            "catch (UnknownHostException e) {\n"
            "System.out.println(new String(p.getData(), 0, p.getLength())); } } } }",
    "javascript": f"require('dns').lookup('{NAME}', e => console.log(e.code == 'ENOTFOUND'));",
    "javascript-fetch": f"fetch('http://{NAME}/').catch(e => console.log('true'));",
    "javascript-resolve": f"require('dns').resolve('{NAME}', e => console.log(e != null));",
    "perl": "use Socket;\n"
            f"print gethostbyname('{NAME}') ? \"found\" : \"true\", \"\\n\";",
    "php": f"<?php echo gethostbyname('{NAME}') == '{NAME}' ? 'true' : 'found', \"\\n\";",
    "python": "import socket\ntry: socket.getaddrinfo('" + NAME + "', 80)\n"
              "except socket.gaierror as e: print(e.errno == socket.EAI_NONAME)",
    "python-urllib": "import urllib.request\n"
                     f"try: urllib.request.urlopen('http://{NAME}/')\n"
                     "except OSError: print('true')",
    "ruby": f"require 'socket'\nbegin; Addrinfo.getaddrinfo('{NAME}', 80)\n"
            "rescue SocketError; puts 'true'; end",
    "rust": "use std::net::ToSocketAddrs;\n"
            f"fn main() {{ println!(\"{{}}\", \"{NAME}:80\".to_socket_addrs().is_err()); }}",
}


def told(result):
    return {(event["kind"], event["subject"]) for event in result["events"]}


@pytest.mark.parametrize("language", sorted(ASKS))
def test_asks(brig, language):
    result = brig.result("--lang", language.split("-")[0], "-c", ASKS[language])
    assert result["status"] == "ok" and result["stdout"].lower() == "true\n", result
    assert told(result) == {("connection.refused", NAME)}, result["events"]


@pytest.mark.parametrize("program", [["curl", "-s"], ["wget", "-q", "-t1", "-O-"]])
def test_programs(brig, program):
    result = brig.result("--", shutil.which(program[0]), *program[1:], f"http://{NAME}/")
    assert result["status"] == "failed" and told(result) == {("connection.refused", NAME)}, result
    assert f"tried to reach {NAME}, but its cell has no network" in result["verdict"]["remedy"]
    assert "network.allow" in result["verdict"]["operator_remedy"]
