/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template's interface to Python: a module on the stable ABI, so that one build works with
 * every version from 3.8 on. It is loaded from a memory file; nothing has to be installed.
 */
#define Py_LIMITED_API 0x03080000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "template/clone_exit.h"
#include "template/heap_holes.h"
#include "template/serve.h"

/* PyBUF_WRITE: part of the stable ABI by this value, but named only from 3.11 on. */
#define BUFFER_WRITE 0x200

static void before_clone(void)
{
	PyOS_BeforeFork();
}

static void after_clone(void)
{
	PyOS_AfterFork_Parent();
}

static PyObject *word_list(const char *const *words, uint64_t count)
{
	PyObject *list = PyList_New(0);

	for (uint64_t i = 0; list && i < count; i++) {
		PyObject *word = PyUnicode_DecodeFSDefault(words[i]);
		if (!word || PyList_Append(list, word) < 0) {
			Py_CLEAR(list);
		}
		Py_XDECREF(word);
	}
	return list;
}

/* Like an interpreter reads its environment: of two entries with one name the first counts. */
static PyObject *variable_dict(const char *const *entries, uint64_t count)
{
	PyObject *dict = PyDict_New();

	for (uint64_t i = 0; dict && i < count; i++) {
		const char *equals = strchr(entries[i], '=');
		if (!equals) {
			continue;
		}
		PyObject *name = PyBytes_FromStringAndSize(entries[i], equals - entries[i]);
		PyObject *value = PyBytes_FromString(equals + 1);
		int there = name && value ? PyDict_Contains(dict, name) : -1;
		if (there < 0 || (there == 0 && PyDict_SetItem(dict, name, value) < 0)) {
			Py_CLEAR(dict);
		}
		Py_XDECREF(name);
		Py_XDECREF(value);
	}
	return dict;
}

/* wait() -> (words, {name: value} of bytes, value_fd): the assignment. */
static PyObject *wait_for_order(PyObject *module, PyObject *args)
{
	struct template_assignment assignment;

	(void)module;
	(void)args;
	template_wait(&assignment);
	PyObject *argv = word_list(assignment.assignment.argv, assignment.assignment.argc);
	PyObject *env = variable_dict(assignment.assignment.envp, assignment.assignment.envc);
	if (!argv || !env) {
		Py_XDECREF(argv);
		Py_XDECREF(env);
		return NULL;
	}
	return Py_BuildValue("NNi", argv, env, assignment.value_fd);
}

static const char *const starts[] = {
	[TEMPLATE_PLAIN] = "plain",
	[TEMPLATE_PINNED] = "pinned",
	[TEMPLATE_REHEARSES] = "rehearses",
};

/* serve(socket, plan, name) -> wait, start: in a payload process, or in a child that rehearses. */
static PyObject *serve(PyObject *module, PyObject *args)
{
	static const struct template_hooks hooks = { { before_clone, after_clone }, true };
	enum template_start start;
	static const struct heap_holes_allocator objects = { PyObject_Malloc, PyObject_Free };
	const char *name;
	int socket, plan;

	if (!PyArg_ParseTuple(args, "iis", &socket, &plan, &name)) {
		return NULL;
	}
	heap_holes_fill(&objects);
	int r = template_serve(socket, plan, name, &hooks, &start);
	if (r < 0) {
		errno = -r;
		return PyErr_SetFromErrno(PyExc_OSError);
	}
	PyOS_AfterFork_Child();
	return Py_BuildValue("Ns", PyObject_GetAttrString(module, "wait"), starts[start]);
}

/*
 * The functions below read the template's objects without taking references: each reference would
 * be a write, and in a clone the first write to a page copies the whole page.
 */

/* additions(space, known) -> names in the dictionary that are not in the dictionary or set. */
static PyObject *additions(PyObject *module, PyObject *args)
{
	PyObject *space, *known, *name, *value;
	Py_ssize_t at = 0;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &space, &known)) {
		return NULL;
	}
	PyObject *list = PyList_New(0);
	bool is_dict = PyDict_Check(known);
	while (list && PyDict_Next(space, &at, &name, &value)) {
		int there = is_dict ? PyDict_Contains(known, name) : PySet_Contains(known, name);
		if (there < 0 || (there == 0 && PyList_Append(list, name) < 0)) {
			Py_CLEAR(list);
		}
	}
	return list;
}

/* changed({name: (space, names)}) -> the pairs whose space differs in size from its names. */
static PyObject *changed(PyObject *module, PyObject *spaces)
{
	PyObject *list = PyList_New(0), *name, *pair;
	Py_ssize_t at = 0;

	(void)module;
	while (list && PyDict_Next(spaces, &at, &name, &pair)) {
		Py_ssize_t size = PyDict_Size(PyTuple_GetItem(pair, 0));
		if (size != PySet_Size(PyTuple_GetItem(pair, 1)) && PyList_Append(list, pair) < 0) {
			Py_CLEAR(list);
		}
	}
	return list;
}

/* real_path(path): like os.path.realpath(), for a path that exists; else None. */
static PyObject *real_path(PyObject *module, PyObject *path)
{
	PyObject *bytes = NULL, *text = NULL;
	char real[PATH_MAX];

	(void)module;
	if (!PyUnicode_FSConverter(path, &bytes)) {
		return NULL;
	}
	if (realpath(PyBytes_AsString(bytes), real)) {
		text = PyUnicode_DecodeFSDefault(real);
	} else {
		Py_INCREF(Py_None);
		text = Py_None;
	}
	Py_DECREF(bytes);
	return text;
}

/* map(fd, offset, size) -> that part of the file, to be written to, until the process ends. */
static PyObject *map_file(PyObject *module, PyObject *args)
{
	Py_ssize_t offset, size;
	int fd;

	(void)module;
	if (!PyArg_ParseTuple(args, "inn", &fd, &offset, &size)) {
		return NULL;
	}
	void *at = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (at == MAP_FAILED) {
		return PyErr_SetFromErrno(PyExc_OSError);
	}
	return PyMemoryView_FromMemory(at, size, BUFFER_WRITE);
}

/* hide(): from now on no other process of this user can read this one, or change it. */
static PyObject *hide(PyObject *module, PyObject *args)
{
	(void)module;
	(void)args;
	if (prctl(PR_SET_DUMPABLE, 0) < 0) {
		return PyErr_SetFromErrno(PyExc_OSError);
	}
	Py_INCREF(Py_None);
	return Py_None;
}

/* leave(status): ends the process like a C program, without the interpreter's own finalization. */
static PyObject *leave(PyObject *module, PyObject *args)
{
	int status;

	(void)module;
	if (!PyArg_ParseTuple(args, "i", &status)) {
		return NULL;
	}
	template_exit(status);
}

/*
 * An iterator that yields nothing, and runs a program on its first call: no frame is visible below
 * python's own iterators, but none of them stops an exception.
 */
struct program {
	PyObject ob_base;
	/* a tuple: the code of the program, and of the expression that it ends in */
	PyObject *codes;
	PyObject *space; /* its globals */
};

static void program_keep(PyObject *space, const char *name, PyObject *value)
{
	if (value && PyDict_SetItemString(space, name, value) < 0) {
		PyErr_Clear(); /* no memory: leave it out */
	}
	Py_XDECREF(value);
}

static PyObject *program_error(void)
{
	PyObject *kind, *value, *trace;

	PyErr_Fetch(&kind, &value, &trace);
	PyErr_NormalizeException(&kind, &value, &trace);
	if (trace && value) {
		PyException_SetTraceback(value, trace);
	}
	Py_XDECREF(kind);
	Py_XDECREF(trace);
	return value;
}

/* The driver looks for them under these names, which no source text can spell. */
static PyObject *program_next(PyObject *self)
{
	struct program *program = (struct program *)(void *)self;
	PyObject *codes = program->codes, *space = program->space;

	program->codes = program->space = NULL;
	if (!codes) {
		return NULL;
	}
	Py_ssize_t count = PyTuple_Size(codes);
	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *value = PyEval_EvalCode(PyTuple_GetItem(codes, i), space, space);
		if (!value) {
			program_keep(space, ".error", program_error());
			break;
		}
		if (i == 1) {
			program_keep(space, ".value", value);
		} else {
			Py_DECREF(value);
		}
	}
	Py_DECREF(codes);
	Py_DECREF(space);
	return NULL;
}

static void program_free(PyObject *self)
{
	struct program *program = (struct program *)(void *)self;
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	Py_CLEAR(program->codes);
	Py_CLEAR(program->space);
	release(self);
	Py_DECREF(type);
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	PyObject *codes, *space;

	(void)keywords;
	if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &codes, &PyDict_Type, &space)) {
		return NULL;
	}
	struct program *program = (struct program *)(void *)allocate(type, 0);
	if (program) {
		Py_INCREF(codes);
		Py_INCREF(space);
		program->codes = codes;
		program->space = space;
	}
	return (PyObject *)program;
}

static PyType_Slot program_slots[] = {
	{ Py_tp_new, program_new },
	{ Py_tp_dealloc, program_free },
	{ Py_tp_iter, PyObject_SelfIter },
	{ Py_tp_iternext, program_next },
	{ 0, NULL },
};

static PyType_Spec program_spec = {
	.name = "_brig.program",
	.basicsize = sizeof(struct program),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = program_slots,
};

static PyMethodDef methods[] = {
	{ "serve", serve, METH_VARARGS, NULL },
	{ "leave", leave, METH_VARARGS, NULL },
	{ "wait", wait_for_order, METH_NOARGS, NULL },
	{ "additions", additions, METH_VARARGS, NULL },
	{ "changed", changed, METH_O, NULL },
	{ "real_path", real_path, METH_O, NULL },
	{ "map", map_file, METH_VARARGS, NULL },
	{ "hide", hide, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, "_brig", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__brig(void);
PyMODINIT_FUNC PyInit__brig(void)
{
	PyObject *module = PyModule_Create(&definition);
	PyObject *program = module ? PyType_FromSpec(&program_spec) : NULL;

	template_exit_register();
	if (module && (!program || PyModule_AddObject(module, "program", program) < 0)) {
		Py_XDECREF(program);
		Py_CLEAR(module);
	}
	return module;
}
