/*
 * The template's way into Python: a module on the stable ABI, so that one build serves every
 * version from 3.8 on. It is loaded from a memory file; nothing has to be installed.
 */
#define Py_LIMITED_API 0x03080000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <stdlib.h>

#include "template/leave.h"
#include "template/serve.h"

static void before_clone(void)
{
	PyOS_BeforeFork();
}

static void after_clone(void)
{
	PyOS_AfterFork_Parent();
}

static PyObject *bytes_list(const char *const *items, uint64_t count)
{
	PyObject *list = PyList_New(0);

	for (uint64_t i = 0; list && i < count; i++) {
		PyObject *item = PyBytes_FromString(items[i]);
		if (!item || PyList_Append(list, item) < 0) {
			Py_CLEAR(list);
		}
		Py_XDECREF(item);
	}
	return list;
}

/* wait() -> (argv, env, value_fd): the order. */
static PyObject *wait_for_order(PyObject *module, PyObject *args)
{
	struct template_order order;

	(void)module;
	(void)args;
	template_wait(&order);
	PyObject *argv = bytes_list(order.order.argv, order.order.argc);
	PyObject *env = bytes_list(order.order.envp, order.order.envc);
	if (!argv || !env) {
		Py_XDECREF(argv);
		Py_XDECREF(env);
		return NULL;
	}
	return Py_BuildValue("NNi", argv, env, order.value_fd);
}

/* serve(socket, plan, name) -> wait, in a payload process alone. */
static PyObject *serve(PyObject *module, PyObject *args)
{
	static const struct template_hooks hooks = { before_clone, after_clone };
	const char *name;
	int socket, plan;

	if (!PyArg_ParseTuple(args, "iis", &socket, &plan, &name)) {
		return NULL;
	}
	int r = template_serve(socket, plan, name, &hooks);
	if (r < 0) {
		errno = -r;
		return PyErr_SetFromErrno(PyExc_OSError);
	}
	PyOS_AfterFork_Child();
	return PyObject_GetAttrString(module, "wait");
}

/* leave(status): ends the process as C programs do, without the interpreter's own part. */
static PyObject *leave(PyObject *module, PyObject *args)
{
	int status;

	(void)module;
	if (!PyArg_ParseTuple(args, "i", &status)) {
		return NULL;
	}
	template_leave(status);
}

static PyMethodDef methods[] = {
	{ "serve", serve, METH_VARARGS, NULL },
	{ "leave", leave, METH_VARARGS, NULL },
	{ "wait", wait_for_order, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, "_brig", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__brig(void);
PyMODINIT_FUNC PyInit__brig(void)
{
	template_leave_register();
	return PyModule_Create(&definition);
}
