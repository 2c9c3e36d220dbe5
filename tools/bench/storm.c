// SPDX-License-Identifier: GPL-2.0-only
/*
 * storm threads|forks COUNT: create COUNT threads or processes in batches, wait
 * for each batch, print the microseconds that all of it took.
 *
 * A batch is larger than the machines we measure on, so that every batch makes
 * the scheduler place new tasks while others wait.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH 8

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void *nothing(void *arg)
{
	return arg;
}

static int thread_batch(int count)
{
	pthread_t threads[BATCH];

	for (int i = 0; i < count; i++) {
		int err = pthread_create(&threads[i], NULL, nothing, NULL);

		if (err) {
			fprintf(stderr, "storm: pthread_create: %s\n", strerror(err));
			return -1;
		}
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int fork_batch(int count)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("storm: fork");
			return -1;
		}
		if (pid == 0)
			_exit(0);
	}
	for (int i = 0; i < count; i++)
		wait(NULL);
	return 0;
}

int main(int argc, char **argv)
{
	int (*batch)(int) = NULL;
	int count = argc == 3 ? atoi(argv[2]) : 0;
	double start;

	if (argc == 3 && !strcmp(argv[1], "threads"))
		batch = thread_batch;
	else if (argc == 3 && !strcmp(argv[1], "forks"))
		batch = fork_batch;
	if (!batch || count <= 0) {
		fprintf(stderr, "usage: storm threads|forks COUNT\n");
		return 2;
	}
	start = now_us();
	for (int done = 0; done < count; done += BATCH)
		if (batch(count - done < BATCH ? count - done : BATCH))
			return 1;
	printf("%.1f us\n", now_us() - start);
	return 0;
}
