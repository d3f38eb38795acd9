console.log(Object.getOwnPropertyNames(globalThis).sort().join());
console.log(Object.getOwnPropertyNames(process).sort().join());
console.log(Object.keys(globalThis), RegExp.$1, RegExp.lastMatch);
const shown = { ...process, moduleLoadList: 0, _events: 0, env: 0, config: 0, versions: 0 };
console.log(shown);
for (const name of ['performance', 'crypto', 'fetch', 'navigator', 'console', 'process']) {
	console.log(name, Object.getOwnPropertyDescriptor(globalThis, name));
}
console.log(Object.getOwnPropertyNames(Performance.prototype), performance.constructor.name);
