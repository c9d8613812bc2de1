package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// A machine has slots numbered from 0; each owns portsPerSlot ports from
// firstPort on, below the range the kernel takes for outgoing connections
// (ip_local_port_range starts at 32768).
const (
	slots        = 400
	firstPort    = 20100
	portsPerSlot = 20
	adminOffset  = 10
)

// slot is a cluster's claim on its ports, held by an flock(2) that the kernel
// gives up when the process ends, however it ends.
type slot struct {
	number int
	path   string // of the record; the lock is beside it
	lock   *os.File

	mu     sync.Mutex
	record record
}

// record says what a dead owner left behind.
type record struct {
	Owner     int       `json:"owner"`     // pid of the process that holds the slot
	Dir       string    `json:"dir"`       // the cluster's directory
	Processes []process `json:"processes"` // started servers
	Tables    []string  `json:"tables"`    // nft tables, family inet
	Mounts    []string  `json:"mounts"`    // mount points of loop devices
	Groups    []string  `json:"groups"`    // directories of control groups
}

// slotDir is shared by all sandboxes of one user on a machine.
func slotDir() string {
	return filepath.Join(os.TempDir(), "failwise-sandbox-"+strconv.Itoa(os.Getuid()))
}

// claimSlot sweeps what dead processes left and takes the first free slot whose
// ports nobody listens on. nodes is the number of nodes the ports are for.
func claimSlot(ctx context.Context, nodes int) (*slot, error) {
	dir := slotDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the sandbox registry: %w", err)
	}
	var free *slot
	// Users have a registry each; starting at different numbers they seldom try the same ports at once.
	first := int(crc32.ChecksumIEEE([]byte(dir)) % slots)
	for i := range slots {
		number := (first + i) % slots
		path := filepath.Join(dir, fmt.Sprintf("%03d.json", number))
		if _, err := os.Stat(path); free != nil && errors.Is(err, fs.ErrNotExist) {
			continue // nothing to sweep here
		}
		s, err := lockSlot(number, path)
		if err != nil {
			return nil, err
		}
		if s == nil {
			continue
		}
		if err := s.sweep(); err != nil || free != nil || !portsFree(ctx, number, nodes) {
			s.unlock()
			continue
		}
		free = s
	}
	if free == nil {
		return nil, fmt.Errorf("no free port block for a sandbox: all %d are taken; see %s", slots, dir)
	}
	return free, nil
}

// lockSlot returns nil without an error if another cluster holds the slot.
func lockSlot(number int, path string) (*slot, error) {
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a sandbox slot: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close() // nothing was written
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, fmt.Errorf("lock sandbox slot %d: %w", number, err)
	}
	return &slot{number: number, path: path, lock: lock}, nil
}

// sweep removes what the slot's last owner left, if it died before it could.
func (s *slot) sweep() error {
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var left record
	if err := json.Unmarshal(data, &left); err == nil {
		if err := left.remove(); err != nil {
			return err
		}
	}
	return os.Remove(s.path)
}

// update changes the record and saves it, before what it records comes to be.
func (s *slot) update(change func(*record)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.record)
	data, err := json.Marshal(s.record)
	if err != nil {
		return err
	}
	// A rename, so that a process killed half-way leaves the old record.
	if err := os.WriteFile(s.path+".new", data, 0o600); err != nil {
		return fmt.Errorf("write the sandbox record: %w", err)
	}
	return os.Rename(s.path+".new", s.path)
}

// release removes everything the record names, and gives the slot back.
func (s *slot) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.record.remove()
	if err == nil {
		// Otherwise the record stays, for the next sweep.
		if err = os.Remove(s.path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	s.unlock()
	return err
}

func (s *slot) unlock() { _ = s.lock.Close() } // closing is unlocking; nothing was written

// port is node i's port.
func (s *slot) port(i int) int { return firstPort + s.number*portsPerSlot + i }

// host is node i's address, the same in every slot.
func host(i int) string { return fmt.Sprintf("127.0.0.%d", 11+i) }

// portsFree tells whether somebody who knows nothing of slots listens on a slot's ports.
func portsFree(ctx context.Context, number, nodes int) bool {
	var listener net.ListenConfig
	for i := range nodes {
		for _, offset := range []int{i, adminOffset + i} {
			port := strconv.Itoa(firstPort + number*portsPerSlot + offset)
			l, err := listener.Listen(ctx, "tcp", net.JoinHostPort(host(i), port))
			if err != nil {
				return false
			}
			_ = l.Close() // it was opened only to see that it can be
		}
	}
	return true
}
