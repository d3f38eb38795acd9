console.log(process.uptime() < 20, performance.now() < 20000);
