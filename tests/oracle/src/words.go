// SPDX-License-Identifier: Apache-2.0

// Counts words as a server would: most of the standard library comes along.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"sort"
	"strings"
	"sync"
)

type count struct {
	Word string `json:"word"`
	N    int    `json:"n"`
}

type table struct {
	mutex sync.Mutex
	words map[string]int
}

var word = regexp.MustCompile(`[\pL']+`)

func (t *table) add(text string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, w := range word.FindAllString(strings.ToLower(text), -1) {
		t.words[w]++
	}
}

func most[K comparable](from map[K]int, less func(a, b K) bool) []K {
	keys := make([]K, 0, len(from))
	for k := range from {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if from[keys[i]] != from[keys[j]] {
			return from[keys[i]] > from[keys[j]]
		}
		return less(keys[i], keys[j])
	})
	return keys
}

func (t *table) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	t.add(string(text))
	var all []count
	for _, k := range most(t.words, func(a, b string) bool { return a < b }) {
		all = append(all, count{k, t.words[k]})
	}
	_ = json.NewEncoder(w).Encode(all)
}

func main() {
	t := &table{words: map[string]int{}}
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], t))
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		t.add(lines.Text())
	}
	for _, k := range most(t.words, func(a, b string) bool { return a < b }) {
		fmt.Println(t.words[k], k)
	}
}
