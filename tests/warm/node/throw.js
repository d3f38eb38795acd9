function inner(depth) {
	if (depth === 0) {
		throw new RangeError('so\ndeep', { cause: new Error('below') });
	}
	inner(depth - 1);
}
console.log('before');
inner(3);
