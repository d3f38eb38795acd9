// args: ["one", "two words", "--three", "ünï", ""]
console.log(process.argv, process.execArgv, process.argv0, process.execPath, process.title);
console.log(process.argv.length, process._preload_modules, process._eval);
