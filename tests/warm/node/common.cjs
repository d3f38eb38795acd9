console.log(__filename, require.main === module, process.argv);
