console.log(process.env, require('os').homedir(), require('os').tmpdir());
