// SPDX-License-Identifier: Apache-2.0

//go:build !amd64
// +build !amd64

package assembly

//go:noinline
func through(f func()) { f() }
