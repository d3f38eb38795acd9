/* SPDX-License-Identifier: Apache-2.0 */
/* The same no-op at the size of an ordinary static program: libc's start-up, then status 0. */
int main(void)
{
	return 0;
}
