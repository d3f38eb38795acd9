// env: {"GREETING": "hallo welt", "EMPTY": "", "HOME": "/tmp", "A1": "x=y"}
console.log(process.env, Object.keys(process.env), 'EMPTY' in process.env, process.env.NO_SUCH);
const { spawnSync } = require('child_process');
console.log(spawnSync(process.execPath, ['-p', 'process.env'], { encoding: 'utf8' }).stdout);
