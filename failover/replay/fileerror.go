package replay

import (
	"fmt"
)

// FileError is what is wrong in a file that a user wrote.
type FileError struct {
	File string
	// Line counts from 1; 0 is the file as a whole.
	Line int
	// Msg says what is wrong: one line, lower case.
	Msg string
	// Word and Known are set for a word that is not in a list: what stood there,
	// and what could have.
	Word  string
	Known []string
	Err   error
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

func (e *FileError) Unwrap() error { return e.Err }
