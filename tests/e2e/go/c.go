// SPDX-License-Identifier: Apache-2.0

//go:build cgo
// +build cgo

package main

/*
#include <stdlib.h>
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static __attribute__((noinline)) int c_sorted(int *list, int n) { qsort(list, n, sizeof(*list), by_value); return list[0]; }
void back(void);
static void c_calls_back(void) { back(); }
*/
import "C"

//export back
func back() { twig("called by C") }

func init() {
	more = append(more, func() {
		list := []C.int{3, 1, 2}
		if C.c_sorted(&list[0], 3) != 1 {
			panic("C cannot sort")
		}
		C.c_calls_back()
	})
}
