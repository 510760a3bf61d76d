// SPDX-License-Identifier: Apache-2.0

//go:build go1.23
// +build go1.23

package main

import "slices"

func count(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; i < n; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

//go:noinline
func countSlowly(n int) func(func(int) bool) { return count(n) }

func init() {
	more = append(more, func() {
		for i := range count(2) {
			if i == 1 {
				twig("body of a range over a function")
			}
		}
		for range countSlowly(1) {
			branch("body of a range over a function that is not inlined")
		}
		slices.SortFunc([]int{2, 1}, func(a, b int) int { leaf("slices.SortFunc"); return a - b })
	})
}
