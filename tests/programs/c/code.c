/* Threads, files, mathematics, processes, sorting and time of the C library. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define STEPS   200000

struct part {
	pthread_t thread;
	int number;
	double sum;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int finished;

/* A quarter of the Leibniz series for pi. */
static void *work(void *data)
{
	struct part *part = data;

	for (int i = part->number; i < STEPS; i += THREADS) {
		part->sum += (i % 2 ? -4.0 : 4.0) / (2 * i + 1);
	}
	pthread_mutex_lock(&lock);
	finished++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void files(void)
{
	const char *words[] = { "walnut", "almond", "hazel", "cashew" };
	char line[64];
	FILE *file;

	qsort(words, 4, sizeof(words[0]), compare);
	mkdir("out", 0755);
	file = fopen("out/words.txt", "w+");
	for (int i = 0; i < 4; i++) {
		fprintf(file, "%d %s\n", i, words[i]);
	}
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		printf("file %s", line);
	}
	fclose(file);
}

int main(void)
{
	struct part parts[THREADS] = { 0 };
	double pi = 0;
	int fds[2], status;
	char text[32] = "";
	time_t zero = 86400;
	struct tm day;

	for (int i = 0; i < THREADS; i++) {
		parts[i].number = i;
		pthread_create(&parts[i].thread, NULL, work, &parts[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(parts[i].thread, NULL);
		pi += parts[i].sum;
	}
	printf("pi %.4f after %d threads, sqrt %.6f\n", pi, finished, sqrt(2));
	files();
	fflush(stdout);
	if (pipe(fds) == 0 && fork() == 0) {
		_exit(write(fds[1], "hello", 5) == 5 ? 7 : 1);
	}
	wait(&status);
	if (read(fds[0], text, sizeof(text) - 1) > 0) {
		printf("child says %s, exits %d\n", text, WEXITSTATUS(status));
	}
	gmtime_r(&zero, &day);
	strftime(text, sizeof(text), "%A %d %B %Y", &day);
	printf("%s\n", text);
	return 0;
}
