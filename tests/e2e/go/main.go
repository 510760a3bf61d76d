// SPDX-License-Identifier: Apache-2.0

// Program frames prints its own stacks as Go's runtime sees them, inlined calls and all: what
// unhex must say of the same addresses.
package main

// The runtime and syscall alone: their build is a matter of seconds.
import (
	"runtime"
	"syscall"

	"frames/assembly"
)

// show prints the stack it is called from: a line a frame, innermost first.
//
//go:noinline
func show(what string) {
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	print("stack\t", what, "\n")
	for {
		f, more := frames.Next()
		kind := "inlined"
		if f.Func != nil {
			kind = "physical"
		}
		print("frame\t", f.PC, "\t", f.Entry, "\t", kind, "\t", f.Function, "\t", f.File, "\t", f.Line, "\n")
		if !more {
			break
		}
	}
}

func leaf(what string)   { show(what) }
func twig(what string)   { leaf(what + " of twig") }
func branch(what string) { twig(what + " of branch") }
func trunk(what string) {
	if len(what) > 0 {
		branch(what + " of trunk")
	}
	leaf(what)
}

type animal interface{ speak(string) }

type base struct{ name string }

func (b base) speak(what string)   { show(b.name + what) }
func (b *base) shout(what string)  { leaf(b.name + what) }
func (b base) whisper(what string) { twig(b.name + what) }

// Methods of what is embedded get wrappers from the compiler.
type dog struct {
	base
	legs int
}

type pack struct{ *dog }

type shouter interface{ shout(string) }
type whisperer interface{ whisper(string) }

//go:noinline
func call(f func(string), what string) { f(what) }

//go:noinline
func recurse(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	recurse(n-1, f)
}

func closures() {
	x := 1
	add := func(what string) { x++; twig(what) }
	add("closure")
	call(add, "closure that is passed")
	call(func(what string) {
		defer func() { leaf("deferred in " + what) }()
		func() { branch("inner closure") }()
	}, "literal")
	visit([]int{1}, func(i int) bool {
		leaf("visitor")
		return i > 0
	})
}

func visit(list []int, f func(int) bool) {
	for _, item := range list {
		if !f(item) {
			return
		}
	}
}

func methods() {
	d := &dog{base{"rex "}, 4}
	var a animal = d
	a.speak("as animal")
	a = *d
	a.speak("by value")
	a = pack{d}
	a.speak("in a pack")
	var s shouter = pack{d}
	s.shout("of a pack")
	var w whisperer = pack{d}
	w.whisper("of a pack")
	call(d.whisper, "method value")
	call(pack{d}.shout, "method value of a pack")
	f := (*dog).whisper
	f(d, "method expression")
}

//go:noinline
func crash(p *int) int { return *p }

func panics() {
	defer func() {
		_ = recover()
		leaf("recovered")
	}()
	crash(nil)
}

func goroutines() {
	done := make(chan bool)
	go func() {
		twig("goroutine")
		done <- true
	}()
	<-done
	go base{"go "}.signal(done)
	<-done
}

func (b base) signal(done chan bool) {
	b.whisper("signal")
	done <- true
}

// What other files add: newer Go, and C.
var more []func()

func read(path string) string {
	var text []byte
	file, err := syscall.Open(path, syscall.O_RDONLY, 0)
	for err == nil {
		n := 0
		part := make([]byte, 4096)
		if n, err = syscall.Read(file, part); n <= 0 {
			break
		}
		text = append(text, part[:n]...)
	}
	return string(text)
}

// loaded prints where the first mapping of the program begins.
func loaded() {
	name := make([]byte, 4096)
	n, _ := syscall.Readlink("/proc/self/exe", name)
	exe, maps := string(name[:n]), read("/proc/self/maps")
	for start, i := 0, 0; i < len(maps); i++ {
		if maps[i] != '\n' {
			continue
		}
		if line := maps[start:i]; len(line) > n && line[len(line)-n:] == exe {
			print("loaded\t", line[:12], "\n")
			return
		}
		start = i + 1
	}
}

func main() {
	loaded()
	trunk("main")
	closures()
	methods()
	panics()
	goroutines()
	recurse(3, func() { branch("recursion") })
	assembly.Twice(func() { leaf("called by assembly") })
	for _, f := range more {
		f()
	}
}
