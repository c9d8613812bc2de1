package lock

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// maxHolder bounds what is read of a lock's file, in bytes.
const maxHolder = 4096

// readHolder reads who wrote the lock's file last. It is the zero Holder while
// that is being written.
func readHolder(f *os.File) Holder {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, maxHolder))
	if err != nil {
		return Holder{}
	}
	var h Holder
	if err := json.Unmarshal(b, &h); err != nil {
		return Holder{}
	}
	return h
}

func writeHolder(f *os.File, h Holder) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("say who holds the lock: %w", err)
	}
	if _, err := f.WriteAt(append(b, '\n'), 0); err != nil {
		return fmt.Errorf("say who holds the lock: %w", err)
	}
	return nil
}
