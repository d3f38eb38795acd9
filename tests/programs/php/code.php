<?php
// Classes, generators, files, JSON, hashes, expressions, dates and a child process.
declare(strict_types=1);

interface Shape
{
	public function area(): float;
}

final class Circle implements Shape
{
	public function __construct(private float $radius)
	{
	}

	public function area(): float
	{
		return M_PI * $this->radius ** 2;
	}
}

enum Suit: string
{
	case Hearts = 'H';
	case Spades = 'S';
}

function squares(int $count): Generator
{
	for ($i = 1; $i <= $count; $i++) {
		yield $i => $i * $i;
	}
}

echo 'generator ', array_sum(iterator_to_array(squares(10))), "\n";
printf("class %.3f %s\n", (new Circle(1.0))->area(), Suit::from('S')->name);

$path = tempnam(sys_get_temp_dir(), 'sample');
file_put_contents($path, implode("\n", ['pear,3', 'apple,7', 'fig,12']));
$rows = array_map('str_getcsv', file($path, FILE_IGNORE_NEW_LINES));
usort($rows, fn($a, $b) => $a[0] <=> $b[0]);
echo 'files ', json_encode($rows), "\n";
unlink($path);

@mkdir('out');
file_put_contents('out/data.json', json_encode(['größe' => 1.5], JSON_UNESCAPED_UNICODE));
echo 'json ', file_get_contents('out/data.json'), ' ', filesize('out/data.json'), "\n";
echo 'hash ', substr(hash('sha256', 'brig'), 0, 16), ' ', crc32('brig'), "\n";
echo 'regexp ', preg_replace_callback('/\d+/', fn($m) => (string)($m[0] * 2), 'a1 b22'), "\n";
echo 'ctype ', var_export(ctype_alpha('abc'), true), ' ', strlen(random_bytes(8)), "\n";

$child = proc_open(['/bin/sh', '-c', 'read line; echo "got $line"; exit 3'],
	[['pipe', 'r'], ['pipe', 'w']], $pipes);
fwrite($pipes[0], "hello\n");
fclose($pipes[0]);
echo 'child ', trim(stream_get_contents($pipes[1]));
fclose($pipes[1]);
echo ' ', proc_close($child), "\n";

$date = new DateTimeImmutable('2024-02-28', new DateTimeZone('Europe/Berlin'));
echo 'date ', $date->modify('+2 days')->format('Y-m-d T'), "\n";
try {
	intdiv(1, 0);
} catch (DivisionByZeroError $error) {
	echo 'caught ', $error->getMessage(), "\n";
}
$heap = new SplMinHeap();
foreach ([5, 1, 3] as $number) {
	$heap->insert($number);
}
echo 'spl ', $heap->extract(), ' ', count($heap), "\n";
echo 'match ', match (true) { PHP_INT_SIZE === 8 => '64 bits', default => 'other' }, "\n";
