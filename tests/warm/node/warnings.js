process.on('warning', (warning) => console.log(warning.name, warning.message));
process.emitWarning('careful', 'OwnWarning');
new Buffer(1);
console.log(process.noDeprecation, process.throwDeprecation);
