// SPDX-License-Identifier: Apache-2.0

//go:build go1.18
// +build go1.18

package main

type number interface{ ~int | ~float64 }

type list[T any] struct{ items []T }

func (l *list[T]) each(f func(T)) {
	for _, item := range l.items {
		f(item)
	}
}

//go:noinline
func (l *list[T]) apply(what string, f func(T)) {
	twig(what)
	l.each(f)
}

func sum[T number](items []T, what string) (total T) {
	for _, item := range items {
		total += item
	}
	leaf(what)
	return total
}

//go:noinline
func outerSum[T number](items []T, what string) T { return sum(items, what+" of outerSum") }

func init() {
	more = append(more, func() {
		sum([]int{1, 2}, "generic")
		outerSum([]float64{1, 2}, "generic, not inlined")
		l := &list[string]{[]string{"a"}}
		l.apply("generic method", func(s string) { branch("passed to a generic method " + s) })
	})
}
