// SPDX-License-Identifier: Apache-2.0
// Copies the state of a session's interpreter: see fork.py. Values that can be cloned are
// serialized together; functions and classes are copied by their text, unless they are closures;
// modules by their names. Names that were declared by `const` are declared by `let`.
(() => {
	const fs = require('fs');
	const inspector = require('inspector');
	const { builtinModules } = require('module');
	const { types } = require('util');
	const v8 = require('v8');
	const vm = require('vm');

	const LIMIT = 8 << 20;
	const NODES = 200000;
	const CARRIED = Symbol.for('brig.carried');
	const OWN = new Set(['_', '_error']);

	const [word, path] = process.argv.slice(2);
	const carried = [];
	const left = new Map();

	function tellNames() {
		const lines = [...carried].map((name) => `+${name}`);
		for (const [name, why] of left) {
			lines.push(`-${name}\t${String(why).replace(/\s+/g, ' ').slice(0, 200)}`);
		}
		fs.writeFileSync(`${path}.names`, lines.map((line) => `${line}\n`).join(''));
	}

	function run(text) {
		return vm.runInThisContext(text, { filename: '<fork>', displayErrors: false });
	}

	// Asks the engine itself, which answers at once.
	class Inspector {
		constructor() {
			this.session = new inspector.Session();
			this.session.connect();
		}

		ask(method, params) {
			let answer = null;
			this.session.post(method, params, (error, result) => {
				answer = error ? null : result;
			});
			return answer;
		}

		// Names that were declared by let, const and class.
		lexicalNames() {
			return this.ask('Runtime.globalLexicalScopeNames', {})?.names ?? [];
		}

		inside(objectId, name) {
			const found = this.ask('Runtime.getProperties', { objectId, ownProperties: true });
			return (name ? found?.internalProperties?.find((p) => p.name === name)?.value : found?.result) ?? null;
		}

		isClosure(name) {
			const id = this.ask('Runtime.evaluate', { expression: name })?.result?.objectId;
			const scopes = id && this.inside(id, '[[Scopes]]')?.objectId;
			const list = scopes ? this.inside(scopes) : [];
			return list.some((scope) => /^(Closure|Block|Catch|With|Local)/.test(scope.value?.description ?? ''));
		}
	}

	function moduleOf(value) {
		for (const [file, module] of Object.entries(require.cache)) {
			if (module.exports === value) {
				return file;
			}
		}
		const names = builtinModules.filter((name) => !/^_|^punycode$|^sys$|^wasi$|\//.test(name));
		return [...names, 'fs/promises', 'timers/promises', 'path/posix'].find((name) => {
			try {
				return require(name) === value;
			} catch {
				return false;
			}
		});
	}

	const PLAIN = [types.isDate, types.isRegExp, types.isAnyArrayBuffer, types.isBoxedPrimitive];

	// Why it cannot be cloned, or changes when it is cloned; undefined: it can.
	function obstacle(value, budget) {
		const seen = new Set();
		const waiting = [value];
		while (waiting.length) {
			const one = waiting.pop();
			budget.bytes -= typeof one === 'string' ? 2 * one.length : 8;
			if (typeof one === 'symbol' || typeof one === 'function') {
				return `there is a ${typeof one} in it`;
			}
			if (one === null || typeof one !== 'object' || seen.has(one)) {
				continue;
			}
			seen.add(one);
			budget.bytes -= one.byteLength ?? 0;
			if (--budget.nodes < 0 || budget.bytes < 0) {
				return 'it has more than 8 MiB';
			}
			const base = Object.getPrototypeOf(one);
			if (types.isMap(one) || types.isSet(one)) {
				waiting.push(...[...one].flat());
			} else if (Array.isArray(one) || base === Object.prototype || base === null) {
				waiting.push(...Object.values(one));
			} else if (!ArrayBuffer.isView(one) && !PLAIN.some((is) => is(one))) {
				return `there is an instance of ${one.constructor?.name || 'something'} in it`;
			}
		}
		return undefined;
	}

	function describe(name, lexical, ask, budget) {
		const value = lexical ? run(name) : globalThis[name];
		if (value !== null && (typeof value === 'object' || typeof value === 'function')) {
			const module = (typeof value === 'function' || Object.values(value).some((v) => typeof v === 'function'))
				&& moduleOf(value);
			if (module) {
				return { name, lexical, module };
			}
		}
		if (typeof value === 'function') {
			const text = Function.prototype.toString.call(value);
			if (/\{\s*\[native code\]\s*\}\s*$/.test(text)) {
				throw new Error('it is not written in JavaScript');
			}
			if (ask.isClosure(name)) {
				throw new Error('it is a closure');
			}
			new vm.Script(`(${text})`);
			budget.bytes -= 2 * text.length;
			return { name, lexical, text };
		}
		const attempt = { ...budget };
		const why = obstacle(value, attempt);
		if (why) {
			throw new Error(why);
		}
		v8.serialize(value);
		Object.assign(budget, attempt);
		return { name, lexical, value };
	}

	function save() {
		const ask = new Inspector();
		const lexical = ask.lexicalNames();
		const initial = globalThis[Symbol.for('brig.names')] ?? new Set();
		const plain = Object.getOwnPropertyNames(globalThis).filter((name) => !initial.has(name));
		const budget = { bytes: LIMIT, nodes: NODES };
		const parts = [];
		for (const name of [...lexical, ...plain]) {
			if (OWN.has(name) || !/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name)) {
				continue;
			}
			try {
				parts.push(describe(name, lexical.includes(name), ask, budget));
				carried.push(name);
			} catch (error) {
				left.set(name, error?.message ?? error);
			}
		}
		fs.writeFileSync(path, v8.serialize({ parts, cwd: process.cwd(), env: { ...process.env } }));
	}

	function put(part) {
		const { name, lexical } = part;
		const source = part.text ? `(${part.text})`
			: part.module ? `require(${JSON.stringify(part.module)})`
				: `globalThis[Symbol.for('brig.carried')]`;
		Object.defineProperty(globalThis, CARRIED, { configurable: true, value: part.value });
		run(`${lexical ? 'let' : 'var'} ${name} = ${source}`);
	}

	function load() {
		const state = v8.deserialize(fs.readFileSync(path));
		Object.keys(process.env).forEach((name) => delete process.env[name]);
		Object.assign(process.env, state.env);
		try {
			process.chdir(state.cwd);
		} catch {
			// It could not be copied.
		}
		// A class may extend another: so failed ones are tried again while that helps. A
		// name whose declaration by let has failed cannot be declared again, so the text is
		// tried alone first.
		let waiting = state.parts;
		for (let before = -1; waiting.length && waiting.length !== before;) {
			before = waiting.length;
			waiting = waiting.filter((part) => {
				try {
					if (part.text) {
						run(`(${part.text})`);
					}
					put(part);
					left.delete(part.name);
					return false;
				} catch (error) {
					left.set(part.name, error?.message ?? error);
					return true;
				}
			});
		}
		delete globalThis[CARRIED];
	}

	(word === 'save' ? save : load)();
	tellNames();
})();
