process.on('exit', (code) => console.log('leaving with', code));
process.stdout.write('no line end');
process.exit(7);
