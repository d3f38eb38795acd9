/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-gate-tls: the gate of a cell for which the operator wants TLS to some hosts opened. The same
 * program as brig-gate (src/gate), with OpenSSL, which no other cell's gate has.
 *
 * Theory of operation. Before it is sealed, and before the cell exists, it makes a certificate
 * authority: a key, a certificate for it that is constrained to the hosts, and one certificate for
 * each of them. Then the authority's key is erased. So no further certificate can be signed by the
 * authority that the cell trusts, not even by an attacker in control of this process. The
 * authority's certificate goes to the cell, where programs find it among the trusted ones.
 *
 * Privileges: those of brig-gate, and pairs of sockets of its own. OpenSSL reads no file, loads no
 * library or module, and resolves no name; its texts and tables are made before the seal.
 */
#include "gate_tls/hosts.h"

int main(void)
{
	return gate_program(&tls_opener);
}
