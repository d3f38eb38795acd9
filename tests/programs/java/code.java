// Streams, records, threads, files, time zones, hashes and a child; the class is not called Main.
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

record Point(int x, int y) {
	double length() {
		return Math.sqrt(x * x + y * y);
	}
}

public class Sample {
	private static void streams() {
		Map<Integer, List<String>> byLength =
			Stream.of("fig", "pear", "plum", "apple").collect(
				Collectors.groupingBy(String::length, TreeMap::new, Collectors.toList()));
		System.out.println("streams " + byLength);
		System.out.println("parallel " + IntStream.rangeClosed(1, 10000).parallel().asLongStream().sum());
	}

	private static void threads() throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(4);
		ConcurrentHashMap<Integer, Integer> seen = new ConcurrentHashMap<>();
		List<Callable<Integer>> jobs = new ArrayList<>();
		for (int i = 1; i <= 10; i++) {
			int number = i;
			jobs.add(() -> {
				seen.merge(number % 3, 1, Integer::sum);
				return number * number;
			});
		}
		int total = 0;
		for (Future<Integer> result : pool.invokeAll(jobs)) {
			total += result.get();
		}
		pool.shutdown();
		System.out.println("threads " + total + " " + new TreeMap<>(seen));
	}

	private static void files() throws Exception {
		Path folder = Files.createDirectories(Path.of("out"));
		Path file = folder.resolve("größe.txt");
		Files.write(file, List.of("eins", "zwei", "drei"), StandardCharsets.UTF_8);
		byte[] hash = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
		System.out.println("files " + Files.size(file) + " "
				   + HexFormat.of().formatHex(hash).substring(0, 16));
		Path temporary = Files.createTempFile("sample", ".tmp");
		Files.delete(temporary);
	}

	public static void main(String[] args) throws Exception {
		streams();
		threads();
		files();
		System.out.println("record " + new Point(3, 4) + " " + new Point(3, 4).length());
		System.out.println("time " + Instant.EPOCH.atZone(ZoneId.of("Europe/Berlin")) + " "
				   + LocalDate.of(2024, 2, 28).plusDays(2) + " " + Duration.ofSeconds(3725));
		Process child = new ProcessBuilder("/bin/sh", "-c", "echo from sh; exit 3").start();
		System.out.print("child " + new String(child.getInputStream().readAllBytes()));
		System.out.println("exit " + child.waitFor());
		try {
			Files.readString(Path.of("missing"));
		} catch (IOException error) {
			System.out.println("caught " + error.getClass().getSimpleName());
		}
		StringBuilder text = new StringBuilder();
		"straße".codePoints().forEach(text::appendCodePoint);
		System.out.println(text.reverse());
	}
}
