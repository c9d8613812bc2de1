// Package storage finds out how the disk under a path is, without ever hanging
// with it.
//
// A system call on a sick disk may not return: its thread sleeps in the kernel,
// no signal reaches it, and the process that owns it cannot exit. So everything
// that touches the path — even looking whether it exists — is done by a child
// process, a second copy of this program. The child tells each step before it
// takes it. When it does not come back in time it is killed and abandoned, not
// waited for: it goes when the disk returns. The parent reads only /proc and
// /sys, which live in memory.
//
// What is measured, per path:
//
//   - write: one block of 4 KiB written past the page cache and synced, in a file
//     without a name (O_TMPFILE), so that nothing is left behind
//   - read: one block of an existing file, read past the page cache
//   - free space and inodes, read-only mounts, I/O errors
//   - the device's requests in flight and whether any finishes
//   - the kernel's I/O pressure (PSI) of the whole machine
//
// The caller's duties:
//
//  1. Call [RunChild] first thing in main, and end with its code if it handled
//     the command line.
//  2. Give [Check] a context with a deadline; it returns by then.
//  3. Keep the program itself on a disk that works: its own code is read from
//     there.
//
// It measures on Linux only; elsewhere [Check] says so.
//
//	for _, r := range storage.Check(ctx, storage.Options{Paths: []string{"/var/lib/mysql"}}) {
//		fmt.Println(r.Path, r.Message)
//	}
package storage
