// SPDX-License-Identifier: Apache-2.0

// Program small is the runtime and little else: it is built for machines that cannot run it.
package main

type shape interface{ area() int }

type square struct{ side int }

func (s square) area() int { return s.side * times(s.side) }

func times(n int) int { return once(n) }
func once(n int) int  { return n }

type tile struct{ square }

//go:noinline
func measure(s shape) int { return s.area() }

func main() {
	total := 0
	add := func(n int) { total += times(n) }
	add(measure(&tile{square{2}}))
	println(total)
}
