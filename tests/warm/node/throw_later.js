setTimeout(() => { null.property; }, 1);
process.on('exit', (code) => console.log('exit', code));
