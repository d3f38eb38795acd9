function down() { return down() + 1; }
try {
	down();
} catch (error) {
	console.log(error.name, error.message);
}
down();
