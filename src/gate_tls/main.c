/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-gate-tls: the gate of a cell for which the operator wants TLS to some hosts opened. The same
 * program as brig-gate (src/gate), with OpenSSL, which no other cell's gate has.
 *
 * Theory of operation. Before it is sealed, and before the cell exists, it makes an authority: a
 * key, a certificate for it that is constrained to the hosts, and one certificate for each of them.
 * Then the authority's key is erased. So nobody can have another certificate signed by what the
 * cell trusts, not even who takes this process over. The authority's certificate goes to the cell,
 * where programs find it among those that they trust.
 *
 * Privileges: those of brig-gate, and pairs of sockets of its own. No file is read, no library or
 * module loaded, no name resolved by OpenSSL; its texts and tables are made before the seal.
 */
#include "gate_tls/hosts.h"

int main(void)
{
	return gate_program(&tls_opener);
}
