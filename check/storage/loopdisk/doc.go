// Package loopdisk gives a test a disk of its own that can be made sick: an ext4
// file system in a file, mounted over a loop device, which can be frozen,
// throttled, filled, turned read-only and shut off. It needs root and Linux;
// without them [New] skips the test with the reason, or fails it when
// FAILWISE_REQUIRE_SERVERS is 1. Everything is undone when the test ends.
package loopdisk
