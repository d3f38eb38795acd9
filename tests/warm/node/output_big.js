for (let i = 0; i < 20000; i++) {
	console.log('line', i, 'of many');
}
console.error('done');
