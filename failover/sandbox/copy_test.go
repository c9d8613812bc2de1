package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

func TestCopyEqualsOriginal(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var content []byte
		for _, filled := range rapid.SliceOfN(rapid.Bool(), 0, 6).Draw(t, "blocks") {
			block := make([]byte, copyBlock)
			if filled {
				block[rapid.IntRange(0, copyBlock-1).Draw(t, "at")] = 1
			}
			content = append(content, block...)
		}
		content = append(content, make([]byte, rapid.IntRange(0, copyBlock).Draw(t, "tail"))...)
		from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
		if err := os.WriteFile(from, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		if err := copyFile(from, to, rapid.Bool().Draw(t, "holes")); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes became %d (error: %v)", len(content), len(got), err)
		}
	})
}
