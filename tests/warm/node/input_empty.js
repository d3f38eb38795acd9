console.log(require('fs').readFileSync('/dev/stdin').length);
process.stdin.on('data', () => {}).on('end', () => console.log('end', process.stdin.constructor.name));
