/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WASI's fd_write() for interpreters. The engine writes the first part of several and returns. A
 * program has to expect that, but Linux does not do it to files and pipes. Ruby then waits until
 * the file can be written, and in its module that wait fails, and with it the write. So the parts
 * are written one after the other.
 */
#include <string.h>

#include "wasm_host/wasm_host.h"

/* It ends with the first part that fails or is cut; an error counts only if nothing was written. */
static const char text[] =
	"(module (import \"brig\" \"memory\" (memory 0)) (export \"memory\" (memory 0))"
	"(import \"" WASI_MODULE "\" \"fd_write\""
	" (func $write (param i32 i32 i32 i32) (result i32)))"
	"(func (export \"fd_write\") (param $fd i32) (param $part i32) (param $left i32)"
	" (param $written i32) (result i32) (local $sum i32) (local $error i32)"
	" (block $end (loop $next"
	"  (local.set $error (call $write (local.get $fd) (local.get $part)"
	"   (i32.gt_u (local.get $left) (i32.const 0)) (local.get $written)))"
	"  (br_if $end (local.get $error))"
	"  (local.set $sum (i32.add (local.get $sum) (i32.load (local.get $written))))"
	"  (br_if $end (i32.le_u (local.get $left) (i32.const 1)))"
	"  (br_if $end (i32.ne (i32.load (local.get $written))"
	"   (i32.load offset=4 (local.get $part))))"
	"  (local.set $part (i32.add (local.get $part) (i32.const 8)))"
	"  (local.set $left (i32.sub (local.get $left) (i32.const 1)))"
	"  (br $next)))"
	" (if (i32.and (i32.ne (local.get $error) (i32.const 0)) (i32.eqz (local.get $sum)))"
	"  (then (return (local.get $error))))"
	" (i32.store (local.get $written) (local.get $sum))"
	" (i32.const 0)))";

static struct abi_func whole_write;

static struct abi_trap *fd_write(void *user, struct abi_caller *caller, union abi_value *values,
				 size_t count)
{
	(void)user;
	return wasi_forward(caller, &whole_write, values, count);
}

void whole_writes_define(const struct host_command *command)
{
	wasi_replace(command, "fd_write", "iiii", fd_write, NULL);
}

void whole_writes_connect(const struct host_command *command, const struct abi_instance *program)
{
	const struct abi_instance instance =
		wasi_second_module(command, program, text, strlen(text));

	whole_write = wasi_function(command, &instance, "fd_write");
}
