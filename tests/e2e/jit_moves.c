/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run-time compiler for tests: it lists its code in jit-PID.dump, puts other code at an address
 * that had some, and moves code. Usage: jit_moves ROUNDS; it runs each function for that long.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static FILE *dump;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void u32(uint32_t v)
{
	fwrite(&v, 4, 1, dump);
}

static void u64(uint64_t v)
{
	fwrite(&v, 8, 1, dump);
}

static void record(uint32_t id, uint32_t size)
{
	u32(id);
	u32(size);
	u64(now());
}

static void load(const char *name, const uint8_t *code, uint32_t size, uint64_t index)
{
	uint32_t length = (uint32_t)strlen(name) + 1;
	record(0, 16 + 8 + 4 * 8 + length + size);
	u32((uint32_t)getpid());
	u32((uint32_t)syscall(SYS_gettid));
	u64((uintptr_t)code);
	u64((uintptr_t)code);
	u64(size);
	u64(index);
	fwrite(name, length, 1, dump);
	fwrite(code, size, 1, dump);
	fflush(dump);
}

static void move(const uint8_t *from, const uint8_t *to, uint32_t size, uint64_t index)
{
	record(1, 16 + 8 + 5 * 8);
	u32((uint32_t)getpid());
	u32((uint32_t)syscall(SYS_gettid));
	u64((uintptr_t)to);
	u64((uintptr_t)from);
	u64((uintptr_t)to);
	u64(size);
	u64(index);
	fflush(dump);
}

#if defined(__x86_64__)
/* Counts its argument down to 0; the constant makes functions differ. */
static uint32_t compile(uint8_t *to, uint8_t constant)
{
	const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5,           /* push rbp; mov rbp, rsp */
				0x48, 0x83, 0xc0, constant,       /* add rax, constant */
				0x48, 0xff, 0xcf, 0x75,     0xf7, /* dec rdi; jne to the add */
				0x5d, 0xc3};                      /* pop rbp; ret */
	memcpy(to, code, sizeof(code));
	return sizeof(code);
}
#elif defined(__aarch64__)
static uint32_t compile(uint8_t *to, uint8_t constant)
{
	const uint32_t code[] = {0x91000021u | (uint32_t)constant << 10, /* add x1, x1, constant */
				 0xf1000400u,                            /* subs x0, x0, 1 */
				 0x54ffffc1u,                            /* b.ne to the add */
				 0xd65f03c0u};                           /* ret */
	memcpy(to, code, sizeof(code));
	__builtin___clear_cache((char *)to, (char *)to + sizeof(code));
	return sizeof(code);
}
#endif

static void run(uint8_t *code, uint64_t rounds)
{
	void (*function)(uint64_t);
	memcpy(&function, &code, sizeof(function));
	function(rounds);
	usleep(2000); /* no sample is within a few instructions of a change */
}

int main(int argc, char **argv)
{
	char name[64];
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
	snprintf(name, sizeof(name), "jit-%d.dump", (int)getpid());
	dump = fopen(name, "w+");
	uint8_t *at = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *other = at + 4096;
	u32(0x4a695444);
	u32(1);
	u32(40);
	u32(sizeof(void *) == 8 ? 62 : 3);
	u32(0);
	u32((uint32_t)getpid());
	u64(now());
	u64(0);
	fflush(dump);
	/* perf finds the file by this mapping. */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		return 1;
	uint32_t size = compile(at, 1);
	load("first", at, size, 1);
	run(at, rounds);
	compile(at, 2); /* other code at the address of the first */
	load("second", at, size, 2);
	run(at, rounds);
	memcpy(other, at, size);
	__builtin___clear_cache((char *)other, (char *)other + size);
	move(at, other, size, 2);
	compile(at, 3);
	load("third", at, size, 3);
	run(other, rounds); /* the second one */
	run(at, rounds);
	return 0;
}
