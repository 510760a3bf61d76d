// SPDX-License-Identifier: Apache-2.0

// Counts the words of files again and again: something to profile for `./dev run`.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"unicode"
)

type entry struct {
	word string
	n    int
}

func isLetter(r rune) bool {
	return unicode.IsLetter(r)
}

func count(text string, found map[string]int) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !isLetter(r) }) {
		found[strings.ToLower(word)]++
	}
}

func mostFrequent(found map[string]int) []entry {
	var order []entry
	for word, n := range found {
		order = append(order, entry{word, n})
	}
	sort.Slice(order, func(a, b int) bool { return order[a].n > order[b].n })
	return order
}

func main() {
	for round := 0; round < 100000; round++ {
		found := map[string]int{}
		for _, path := range os.Args[1:] {
			text, err := os.ReadFile(path)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			count(string(text), found)
		}
		for _, e := range mostFrequent(found) {
			fmt.Printf("%7d %s\n", e.n, e.word)
		}
	}
}
