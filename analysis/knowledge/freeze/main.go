// Freeze writes, for a build, the built-in models as they are once read and checked, and an overlay that adds them to their
// package.
//
//	freeze DIRECTORY
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"marple/analysis/knowledge"
)

func main() {
	log.SetFlags(0)
	if err := freeze(os.Args[1]); err != nil {
		log.Fatal("freeze: ", err)
	}
}

func freeze(directory string) error {
	form, err := knowledge.Frozen()
	if err != nil {
		return err
	}
	source, err := filepath.Abs(filepath.Join(directory, "frozen.txt"))
	if err != nil {
		return err
	}
	room, err := filepath.Abs(filepath.Join("analysis", "knowledge", "frozen.gen.go"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(source, fmt.Appendf(nil, "package knowledge\n\nfunc init() { frozen = %q }\n", form), 0o644); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{room: source}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, "overlay.json"), overlay, 0o644)
}
