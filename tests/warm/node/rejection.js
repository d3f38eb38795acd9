process.on('exit', (code) => console.error('exit', code));
Promise.reject(new Error('nobody listens'));
