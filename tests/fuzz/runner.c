/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runner.c - feeds files and folders to a fuzz target, without libFuzzer
 *
 * Linked with one fuzz_*.c each; so the corpus is a test with any compiler.
 * Each input lies in an allocation of exactly its size, for the sanitizers.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define INPUT_MAX (1U << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void closedirp(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

/* Return: inputs run, or -1. */
static int run_file(const char *path)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "rbe");
	_cleanup_(freep) uint8_t *buf = malloc(INPUT_MAX);
	_cleanup_(freep) uint8_t *exact = NULL;
	size_t n;

	if (!f || !buf) {
		perror(path);
		return -1;
	}
	n = fread(buf, 1, INPUT_MAX, f);
	if (ferror(f)) {
		perror(path);
		return -1;
	}
	exact = malloc(n ? n : 1);
	if (!exact)
		return -1;
	memcpy(exact, buf, n);
	(void)LLVMFuzzerTestOneInput(exact, n); /* always 0 */
	return 1;
}

static int run_folder(const char *path)
{
	_cleanup_(closedirp) DIR *d = opendir(path);
	const struct dirent *e;
	char file[4096];
	int total = 0;

	if (!d) {
		perror(path);
		return -1;
	}
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		if (snprintf(file, sizeof(file), "%s/%s", path, e->d_name) >=
		    (int)sizeof(file))
			return -1;
		if (run_file(file) < 0)
			return -1;
		total++;
	}
	return total;
}

static int run_path(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		perror(path);
		return -1;
	}
	return S_ISDIR(st.st_mode) ? run_folder(path) : run_file(path);
}

int main(int argc, char **argv)
{
	int total = 0;
	int n;

	/* What every target must bear, even with an empty corpus. */
	(void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++) {
		n = run_path(argv[i]);
		if (n < 0)
			return 1;
		total += n;
	}
	if (argc > 1 && total == 0) {
		(void)fprintf(stderr, "%s: the corpus is empty\n", argv[0]);
		return 1;
	}
	printf("%s: %d inputs\n", argv[0], total);
	return 0;
}
