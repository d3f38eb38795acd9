process.on('unhandledRejection', (reason) => console.log('unhandled', reason));
Promise.reject(7);
process.on('uncaughtException', (error, origin) => console.log(error.message, origin));
setTimeout(() => { throw new Error('caught'); }, 1);
