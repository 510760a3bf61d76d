// SPDX-License-Identifier: Apache-2.0

package assembly

// through is in through_amd64.s.
func through(f func())
