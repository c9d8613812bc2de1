package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// keepOperations is how many finished promotion logs are kept.
const keepOperations = 100

// Operations reads the promotion logs in dir, oldest first, and deletes the oldest
// finished ones beyond a hundred.
func Operations(ctx context.Context, dir *Dir) ([]OperationLog, error) {
	return Do(ctx, dir, "read promotion logs", func() ([]OperationLog, error) {
		return readOperations(filepath.Join(dir.Path(), operationsName))
	})
}

// Unfinished reads the promotion logs in dir that nobody finished, oldest first.
// Call it while holding the cluster's lock: then their writers are dead.
func Unfinished(ctx context.Context, dir *Dir) ([]OperationLog, error) {
	all, err := Operations(ctx, dir)
	return UnfinishedOf(all), err
}

// UnfinishedOf are those of the logs that nobody finished.
func UnfinishedOf(all []OperationLog) []OperationLog {
	return slices.DeleteFunc(slices.Clone(all), func(o OperationLog) bool { _, ended := o.Ended(); return ended })
}

func readOperations(dir string) ([]OperationLog, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var logs []OperationLog
	ended := 0
	// Newest first, so that what is beyond the bound is known when it is met.
	for _, e := range slices.Backward(entries) {
		id, ok := strings.CutSuffix(e.Name(), operationSuffix)
		if !ok {
			continue
		}
		name := filepath.Join(dir, e.Name())
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		o := parseOperation(id, data)
		if _, ok := o.Ended(); ok {
			if ended++; ended > keepOperations {
				if err := os.Remove(name); err != nil {
					return nil, err
				}
				continue
			}
		}
		logs = append(logs, o)
	}
	slices.Reverse(logs)
	return logs, nil
}

// parseOperation reads a log. A line may be there twice, when its first write was
// reported as failed and yet arrived.
func parseOperation(id string, data []byte) OperationLog {
	o := OperationLog{Operation: Operation{ID: id}}
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		var e StepEntry
		if err := json.Unmarshal(line, &e); err != nil {
			o.Damaged++
			continue
		}
		if n := len(o.Entries); n > 0 && e.Seq <= o.Entries[n-1].Seq {
			continue
		}
		if e.Operation != nil && e.Operation.ID == id {
			o.Operation = *e.Operation
		}
		o.Entries = append(o.Entries, e)
	}
	return o
}
