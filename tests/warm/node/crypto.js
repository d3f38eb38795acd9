const crypto = require('crypto');
console.log(crypto.createHash('sha256').update('x').digest('hex'), crypto.randomUUID().length);
console.log(crypto.randomBytes(8).length, crypto.scryptSync('a', 'b', 16).toString('hex'));
crypto.pbkdf2('a', 'b', 100, 16, 'sha512', (error, key) => console.log(error, key.toString('hex')));
