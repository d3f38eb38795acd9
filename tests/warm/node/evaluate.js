const vm = require('vm');
console.log(eval('1 + 1'), new Function('a', 'return a * 2')(4), vm.runInNewContext('x + 1', { x: 2 }));
try {
	vm.runInThisContext('throw new Error("inside")', { filename: 'given.js' });
} catch (error) {
	console.log(error.stack);
}
