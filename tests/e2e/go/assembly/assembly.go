// SPDX-License-Identifier: Apache-2.0

// Package assembly has a function that the compiler did not make.
package assembly

// Twice calls f, and f again, from assembly.
func Twice(f func()) {
	for i := 0; i < 2; i++ {
		through(f)
	}
}
