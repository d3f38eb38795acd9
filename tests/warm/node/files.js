const fs = require('fs');
fs.writeFileSync('out/result.txt', 'made');
fs.mkdirSync('new');
fs.writeFileSync('new/file', 'x'.repeat(10000));
console.log(fs.readdirSync('.'), fs.statSync('.').mode.toString(8), process.umask().toString(8));
console.log(fs.statSync('code.js').mode.toString(8), fs.statSync('code.js').uid, process.getuid());
console.log(fs.readdirSync('/tmp'), fs.readdirSync('/'), fs.readFileSync('code.js', 'utf8').length);
