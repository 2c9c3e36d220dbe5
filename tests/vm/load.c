// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loads of the guest selftests that must measure themselves. Every mode
 * prints one line of JSON.
 *
 *   hog                             spin until killed (prints nothing)
 *   spread parent|self CPU HOGS MS  HOGS hogs start on CPU; their masks are then
 *                                   opened by the parent or by each hog itself
 *   even CPU CPUS NICE MS           2 x CPUS hogs, half of them nice, start on CPU
 *                                   and may then run anywhere
 *   refill CPUS MS                  CPUS + 1 hogs; one that has a CPU for itself
 *                                   ends, so that a waiting one can have it
 *   wake CPU PERIOD_US COUNT        a sleeper that may run on CPU only
 *   duty CPU RUN_US PERIOD_US       run and sleep in turn on CPU until killed
 *   kworkers COUNT PAUSE_US         time until a work item has run on each CPU
 *
 * The hogs note each change of CPU with the time, in memory that the parent
 * reads when they have ended: nothing polls while it is measured.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_HOGS 32
#define MAX_STEPS 4096
#define NS_PER_MS 1000000LL

struct step {
	int64_t ns;
	int cpu;
};

struct hog {
	pid_t pid;
	volatile int64_t beat_ns; /* last seen running */
	volatile int count;
	volatile bool stop;
	struct step steps[MAX_STEPS];
};

struct shared {
	volatile bool open_own_mask;
	struct hog hogs[MAX_HOGS];
};

static struct shared *shared;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_until(int64_t ns)
{
	struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void end_all(void)
{
	for (int i = 0; shared && i < MAX_HOGS; i++)
		if (shared->hogs[i].pid > 0) {
			kill(shared->hogs[i].pid, SIGKILL);
			waitpid(shared->hogs[i].pid, NULL, 0);
			shared->hogs[i].pid = 0;
		}
}

static void give_up(const char *what)
{
	fprintf(stderr, "vm-load: %s: %s\n", what, strerror(errno));
	end_all();
	exit(1);
}

static void allow(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu >= 0)
		CPU_SET((size_t)cpu, &set);
	else
		memset(&set, 0xff, sizeof(set));
	if (sched_setaffinity(pid, sizeof(set), &set))
		give_up("sched_setaffinity");
}

static void spin(struct hog *hog)
{
	bool opened = false;
	int last = -1;

	while (!hog->stop) {
		int cpu = sched_getcpu();
		int64_t now = now_ns();

		if (cpu != last && hog->count < MAX_STEPS) {
			hog->steps[hog->count].ns = now;
			hog->steps[hog->count].cpu = cpu;
			hog->count++;
			last = cpu;
		}
		hog->beat_ns = now;
		if (shared->open_own_mask && !opened) {
			allow(0, -1);
			opened = true;
		}
	}
	_exit(0);
}

static void start_hogs(int count, int cpu)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		give_up("mmap");
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			give_up("fork");
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (cpu >= 0)
				allow(0, cpu);
			spin(&shared->hogs[i]);
		}
		shared->hogs[i].pid = pid;
	}
	for (int i = 0; i < count; i++) {
		int64_t limit = now_ns() + 10000 * NS_PER_MS;

		while (!shared->hogs[i].beat_ns && now_ns() < limit)
			usleep(2000);
		if (!shared->hogs[i].beat_ns) {
			errno = ETIMEDOUT;
			give_up("a hog did not run within 10 s");
		}
	}
}

static int cpu_at(const struct hog *hog, int64_t ns)
{
	int cpu = -1;

	for (int i = 0; i < hog->count && hog->steps[i].ns <= ns; i++)
		cpu = hog->steps[i].cpu;
	return cpu;
}

/* Hogs that are not alone on their CPU wait for each other. */
static bool apart(const bool *counts, int hogs, int64_t ns)
{
	for (int i = 0; i < hogs; i++)
		for (int j = 0; j < i; j++)
			if (counts[i] && counts[j] &&
			    cpu_at(&shared->hogs[i], ns) == cpu_at(&shared->hogs[j], ns))
				return false;
	return true;
}

/* When were the counted hogs first on as many CPUs, how long of the rest of the
 * window did they stay so, and did all of them run to its end?
 */
static void report_apart(const bool *counts, int hogs, int64_t start, int64_t end)
{
	int64_t first = -1, together = 0, oldest_beat = end, step = NS_PER_MS / 4;
	int last_cpus = 0;

	for (int64_t ns = start; ns < end; ns += step) {
		if (apart(counts, hogs, ns)) {
			first = first < 0 ? ns : first;
			together += step;
		}
	}
	for (int i = 0; i < hogs; i++)
		if (counts[i] && shared->hogs[i].beat_ns < oldest_beat)
			oldest_beat = shared->hogs[i].beat_ns;
	for (int cpu = 0; cpu < 1024; cpu++)
		for (int i = 0; i < hogs; i++)
			if (counts[i] && cpu_at(&shared->hogs[i], end) == cpu) {
				last_cpus++;
				break;
			}
	printf("{\"first_ms\": %.2f, \"apart_share\": %.3f, \"silent_ms\": %.2f, \"cpus_at_end\": "
	       "%d}\n",
	       first < 0 ? -1.0 : (double)(first - start) / NS_PER_MS,
	       first < 0 || first >= end ? 0.0 : (double)together / (double)(end - first),
	       (double)(end - oldest_beat) / NS_PER_MS, last_cpus);
}

static void spread(bool own, int cpu, int hogs, int ms)
{
	bool counts[MAX_HOGS] = {0};
	int64_t start, end;

	for (int i = 0; i < hogs; i++)
		counts[i] = true;
	start_hogs(hogs, cpu);
	usleep(20000);
	start = now_ns();
	if (apart(counts, hogs, start)) {
		errno = EINVAL;
		give_up("the hogs were apart before they might");
	}
	if (own)
		shared->open_own_mask = true;
	else
		for (int i = 0; i < hogs; i++)
			allow(shared->hogs[i].pid, -1);
	end = start + ms * NS_PER_MS;
	sleep_until(end);
	end_all();
	report_apart(counts, hogs, start, end);
}

/* Weight of nice 0 and of other values, as sched_ext rounds them. */
#define WEIGHT_NICE_0 100
static double weight_of(int nice_value)
{
	double weight = WEIGHT_NICE_0;

	for (int i = 0; i < nice_value; i++)
		weight /= 1.25;
	return weight;
}

/* By how much the CPU that is furthest off differs from the mean, of 1. */
static double unevenness(const double *weights, int hogs, int cpus, int64_t ns)
{
	double sums[1024] = {0}, total = 0, worst = 0;

	for (int i = 0; i < hogs; i++) {
		int cpu = cpu_at(&shared->hogs[i], ns);

		total += weights[i];
		if (cpu >= 0 && cpu < cpus)
			sums[cpu] += weights[i];
	}
	for (int cpu = 0; cpu < cpus; cpu++) {
		double off = sums[cpu] / (total / cpus) - 1;

		off = off < 0 ? -off : off;
		worst = off > worst ? off : worst;
	}
	return worst;
}

static void even(int cpu, int cpus, int nice_value, int ms)
{
	double weights[MAX_HOGS], worst = 0;
	int64_t start, end, first = -1;
	int hogs = 2 * cpus, moves = 0;

	start_hogs(hogs, cpu);
	for (int i = 0; i < hogs; i++) {
		weights[i] = weight_of(i % 2 ? nice_value : 0);
		if (i % 2 && setpriority(PRIO_PROCESS, (id_t)shared->hogs[i].pid, nice_value))
			give_up("setpriority");
	}
	usleep(20000);
	start = now_ns();
	for (int i = 0; i < hogs; i++)
		allow(shared->hogs[i].pid, -1);
	end = start + ms * NS_PER_MS;
	sleep_until(end);
	end_all();
	for (int64_t ns = start; ns < end; ns += NS_PER_MS) {
		double off = unevenness(weights, hogs, cpus, ns);

		if (first < 0 && off <= 0.1)
			first = ns;
		if (ns >= start + 200 * NS_PER_MS && off > worst)
			worst = off;
	}
	/* Not what the last ones do while the first are being killed. */
	for (int i = 0; i < hogs; i++)
		for (int j = 1; j < shared->hogs[i].count; j++)
			moves += shared->hogs[i].steps[j].ns > start + 200 * NS_PER_MS &&
				 shared->hogs[i].steps[j].ns < end;
	printf("{\"first_ms\": %.1f, \"worst_after_200_ms\": %.3f, \"moves_after_200_ms\": %d}\n",
	       first < 0 ? -1.0 : (double)(first - start) / NS_PER_MS, worst, moves);
}

static void refill(int cpus, int ms)
{
	bool counts[MAX_HOGS] = {0};
	int victim = -1;
	int64_t start, end;

	start_hogs(cpus + 1, -1);
	usleep(400000);
	start = now_ns();
	for (int i = 0; i <= cpus && victim < 0; i++) {
		victim = i;
		for (int j = 0; j <= cpus; j++)
			if (j != i &&
			    cpu_at(&shared->hogs[j], start) == cpu_at(&shared->hogs[i], start))
				victim = -1;
	}
	if (victim < 0) {
		errno = EBUSY;
		give_up("no hog has a CPU for itself");
	}
	for (int i = 0; i <= cpus; i++)
		counts[i] = i != victim;
	start = now_ns();
	shared->hogs[victim].stop = true;
	end = start + ms * NS_PER_MS;
	sleep_until(end);
	end_all();
	report_apart(counts, cpus + 1, start, end);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report_waits(double *us, int count)
{
	double sum = 0;

	for (int i = 0; i < count; i++)
		sum += us[i];
	qsort(us, (size_t)count, sizeof(*us), compare);
	printf("{\"count\": %d, \"mean_us\": %.1f, \"p50_us\": %.1f, \"p90_us\": %.1f, \"max_us\": "
	       "%.1f}\n",
	       count, sum / count, us[count / 2], us[count * 9 / 10], us[count - 1]);
}

static void wake(int cpu, int period_us, int count)
{
	double *us = calloc((size_t)count, sizeof(*us));
	int64_t next;

	if (!us)
		give_up("calloc");
	prctl(PR_SET_TIMERSLACK, 1);
	allow(0, cpu);
	next = now_ns();
	for (int i = 0; i < count; i++) {
		next = (next > now_ns() ? next : now_ns()) + period_us * 1000LL;
		sleep_until(next);
		us[i] = (double)(now_ns() - next) / 1000;
	}
	report_waits(us, count);
	free(us);
}

static void duty(int cpu, int run_us, int period_us)
{
	int64_t next = now_ns();

	prctl(PR_SET_TIMERSLACK, 1);
	allow(0, cpu);
	for (;;) {
		int64_t end = now_ns() + run_us * 1000LL;

		while (now_ns() < end)
			;
		next = (next > now_ns() ? next : now_ns()) + period_us * 1000LL;
		sleep_until(next);
	}
}

/* Opening this file makes the kernel run a work item on each CPU and wait for all. */
static void kworkers(int count, int pause_us)
{
	double *us = calloc((size_t)count, sizeof(*us));

	if (!us)
		give_up("calloc");
	for (int i = 0; i < count; i++) {
		char byte;
		int64_t start;
		int fd = open("/proc/sys/vm/stat_refresh", O_RDONLY);

		if (fd < 0)
			give_up("/proc/sys/vm/stat_refresh");
		start = now_ns();
		if (read(fd, &byte, 1) < 0)
			give_up("read /proc/sys/vm/stat_refresh");
		us[i] = (double)(now_ns() - start) / 1000;
		close(fd);
		usleep((useconds_t)pause_us);
	}
	report_waits(us, count);
	free(us);
}

static int number(const char *text, int min, int max)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || end == text || value < min || value > max) {
		fprintf(stderr, "vm-load: '%s' is not a number from %d to %d\n", text, min, max);
		exit(2);
	}
	return (int)value;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (argc == 2 && !strcmp(mode, "hog"))
		for (volatile int i = 0;; i++)
			;
	else if (argc == 6 && !strcmp(mode, "spread"))
		spread(!strcmp(argv[2], "self"), number(argv[3], 0, 1023),
		       number(argv[4], 1, MAX_HOGS), number(argv[5], 1, 60000));
	else if (argc == 6 && !strcmp(mode, "even"))
		even(number(argv[2], 0, 1023), number(argv[3], 1, MAX_HOGS / 2),
		     number(argv[4], 0, 19), number(argv[5], 300, 60000));
	else if (argc == 4 && !strcmp(mode, "refill"))
		refill(number(argv[2], 1, MAX_HOGS - 1), number(argv[3], 1, 60000));
	else if (argc == 5 && !strcmp(mode, "wake"))
		wake(number(argv[2], 0, 1023), number(argv[3], 1, 10000000),
		     number(argv[4], 1, 1000000));
	else if (argc == 5 && !strcmp(mode, "duty"))
		duty(number(argv[2], 0, 1023), number(argv[3], 1, 10000000),
		     number(argv[4], 1, 10000000));
	else if (argc == 4 && !strcmp(mode, "kworkers"))
		kworkers(number(argv[2], 1, 1000000), number(argv[3], 0, 999999));
	else {
		fprintf(stderr,
			"usage: vm-load hog | spread parent|self CPU HOGS MS |"
			" even CPU CPUS NICE MS | refill CPUS MS | duty CPU RUN_US PERIOD_US |"
			" wake CPU PERIOD_US COUNT | kworkers COUNT PAUSE_US\n");
		return 2;
	}
	return 0;
}
