/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of wasmtime's C interface that brig uses, by its ABI: the functions of one version
 * (src/wasm/engine_file.c has it, with the hash of the library). The structs are those that the
 * engine fills in; all other types are pointers.
 */
#ifndef BRIG_WASM_HOST_WASMTIME_ABI_H
#define BRIG_WASM_HOST_WASMTIME_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct abi_config;
struct abi_engine;
struct abi_error;
struct abi_linker;
struct abi_module;
struct abi_store;
struct abi_context;
struct abi_trap;
struct abi_wasi;
struct abi_caller;
struct abi_functype;
struct abi_valtype;

struct abi_bytes {
	size_t size;
	char *data;
};

struct abi_func {
	uint64_t store_id;
	void *private;
};

struct abi_instance {
	uint64_t store_id;
	size_t private;
};

#define ABI_EXTERN_FUNC 0

struct abi_extern {
	uint8_t kind;
	union {
		struct abi_func func;
		uint64_t room[4]; /* of the other kinds: the largest has 24 bytes */
	} of;
};

struct abi_valtypes {
	size_t size;
	struct abi_valtype **data;
};

#define ABI_EXTERN_MEMORY 3
#define ABI_TYPE_I32      0
#define ABI_TYPE_I64      1

/* An argument, or a result, of a function that the engine calls. */
union abi_value {
	int32_t i32;
	uint64_t room[2]; /* of the largest kind */
};

/* A result that is not NULL ends the program by a trap. */
typedef struct abi_trap *(*abi_callback)(void *user, struct abi_caller *caller,
					 union abi_value *values, size_t count);

/* Result, name, parameters. */
#define WASMTIME_FUNCTIONS(X)                                                                      \
	X(struct abi_config *, wasm_config_new, (void))                                            \
	X(struct abi_engine *, wasm_engine_new_with_config, (struct abi_config *))                 \
	X(void, wasmtime_config_consume_fuel_set, (struct abi_config *, bool))                     \
	X(void, wasmtime_config_parallel_compilation_set, (struct abi_config *, bool))             \
	X(void, wasmtime_config_max_wasm_stack_set, (struct abi_config *, size_t))                 \
	X(void, wasmtime_config_wasm_threads_set, (struct abi_config *, bool))                     \
	X(void, wasmtime_config_memory_init_cow_set, (struct abi_config *, bool))                  \
	X(void, wasm_byte_vec_delete, (struct abi_bytes *))                                        \
	X(struct abi_error *, wasmtime_wat2wasm, (const char *, size_t, struct abi_bytes *))       \
	X(struct abi_error *, wasmtime_module_new,                                                 \
	  (struct abi_engine *, const uint8_t *, size_t, struct abi_module **))                    \
	X(struct abi_error *, wasmtime_module_serialize,                                           \
	  (struct abi_module *, struct abi_bytes *))                                               \
	X(struct abi_error *, wasmtime_module_deserialize_file,                                    \
	  (struct abi_engine *, const char *, struct abi_module **))                               \
	X(struct abi_linker *, wasmtime_linker_new, (struct abi_engine *))                         \
	X(struct abi_error *, wasmtime_linker_define_wasi, (struct abi_linker *))                  \
	X(void, wasmtime_linker_allow_shadowing, (struct abi_linker *, bool))                      \
	X(struct abi_error *, wasmtime_linker_define_func_unchecked,                               \
	  (struct abi_linker *, const char *, size_t, const char *, size_t,                        \
	   const struct abi_functype *, abi_callback, void *, void (*)(void *)))                   \
	X(struct abi_error *, wasmtime_linker_define,                                              \
	  (struct abi_linker *, struct abi_context *, const char *, size_t, const char *, size_t,  \
	   const struct abi_extern *))                                                             \
	X(struct abi_error *, wasmtime_func_call_unchecked,                                        \
	  (struct abi_context *, const struct abi_func *, union abi_value *, size_t,               \
	   struct abi_trap **))                                                                    \
	X(struct abi_valtype *, wasm_valtype_new, (uint8_t))                                       \
	X(void, wasm_valtype_vec_new,                                                              \
	  (struct abi_valtypes *, size_t, struct abi_valtype *const *))                            \
	X(struct abi_functype *, wasm_functype_new,                                                \
	  (struct abi_valtypes *, struct abi_valtypes *))                                          \
	X(struct abi_context *, wasmtime_caller_context, (struct abi_caller *))                    \
	X(bool, wasmtime_caller_export_get,                                                        \
	  (struct abi_caller *, const char *, size_t, struct abi_extern *))                        \
	X(uint8_t *, wasmtime_memory_data, (const struct abi_context *, const void *))             \
	X(size_t, wasmtime_memory_data_size, (const struct abi_context *, const void *))           \
	X(struct abi_error *, wasmtime_linker_instantiate,                                         \
	  (const struct abi_linker *, struct abi_context *, const struct abi_module *,             \
	   struct abi_instance *, struct abi_trap **))                                             \
	X(struct abi_store *, wasmtime_store_new, (struct abi_engine *, void *, void (*)(void *))) \
	X(struct abi_context *, wasmtime_store_context, (struct abi_store *))                      \
	X(void, wasmtime_store_limiter,                                                            \
	  (struct abi_store *, int64_t, int64_t, int64_t, int64_t, int64_t))                       \
	X(struct abi_error *, wasmtime_context_set_fuel, (struct abi_context *, uint64_t))         \
	X(struct abi_error *, wasmtime_context_get_fuel, (struct abi_context *, uint64_t *))       \
	X(struct abi_error *, wasmtime_context_set_wasi,                                           \
	  (struct abi_context *, struct abi_wasi *))                                               \
	X(bool, wasmtime_instance_export_get,                                                      \
	  (struct abi_context *, const struct abi_instance *, const char *, size_t,                \
	   struct abi_extern *))                                                                   \
	X(struct abi_error *, wasmtime_func_call,                                                  \
	  (struct abi_context *, const struct abi_func *, const void *, size_t, void *, size_t,    \
	   struct abi_trap **))                                                                    \
	X(void, wasmtime_error_message, (const struct abi_error *, struct abi_bytes *))            \
	X(bool, wasmtime_error_exit_status, (const struct abi_error *, int *))                     \
	X(bool, wasmtime_trap_code, (const struct abi_trap *, uint8_t *))                          \
	X(void, wasm_trap_message, (const struct abi_trap *, struct abi_bytes *))                  \
	X(struct abi_wasi *, wasi_config_new, (void))                                              \
	X(bool, wasi_config_set_argv, (struct abi_wasi *, size_t, char **))                        \
	X(bool, wasi_config_set_env, (struct abi_wasi *, size_t, const char **, const char **))    \
	X(void, wasi_config_inherit_stdin, (struct abi_wasi *))                                    \
	X(void, wasi_config_inherit_stdout, (struct abi_wasi *))                                   \
	X(void, wasi_config_inherit_stderr, (struct abi_wasi *))                                   \
	X(bool, wasi_config_preopen_dir, (struct abi_wasi *, const char *, const char *, bool))

struct wasmtime {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define X(result, name, parameters) result(*name) parameters;
	WASMTIME_FUNCTIONS(X)
#undef X
};
#endif
