console.log(require.main === module, module.id, module.parent, module.loaded, module.children);
console.log(__filename, __dirname, module.paths, Object.keys(require.cache), process.cwd());
console.log(this === module.exports, typeof exports, arguments.length, require.resolve('fs'));
console.log(Object.keys(require('module')._pathCache).length, process.mainModule === module);
console.log(new Error('x').stack);
