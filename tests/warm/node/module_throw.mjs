function inner() {
	throw new TypeError('from a module');
}
await null;
inner();
