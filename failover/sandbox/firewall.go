package sandbox

import (
	"strings"
)

// loadTable replaces an nft table of the family inet.
func loadTable(name, rules string) error {
	_, err := run("table inet "+name+" {\n"+rules+"\n}\n", "nft", "-f", "-")
	return err
}

// deleteTable removes an nft table; one that is not there is no error.
func deleteTable(name string) error {
	_, err := run("", "nft", "delete", "table", "inet", name)
	if err == nil {
		return nil
	}
	list, listErr := run("", "nft", "list", "tables", "inet")
	if listErr != nil {
		return err
	}
	for line := range strings.Lines(list) {
		if strings.TrimSpace(line) == "table inet "+name {
			return err
		}
	}
	return nil
}
