// Command schemagen writes the JSON Schema of run.json, of model files, or of comparisons, from the types of package
// run, model or compare and their comments.
//
//	schemagen SOURCE-DIRECTORY FILE
package main

import (
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"reflect"

	"github.com/invopop/jsonschema"

	"marple/analysis/compare"
	"marple/analysis/formula"
	"marple/analysis/model"
	"marple/analysis/run"
)

// documents by the package they come from.
var documents = map[string]struct {
	example     any
	name, title string
	version     int
}{
	"run":     {&run.Run{}, "Run", "A run measured by Marple (run.json)", run.Schema},
	"compare": {&compare.Comparison{}, "Comparison", "What differs between two sets of runs (marple compare)", 0},
	"model":   {&model.Document{}, "Document", "Performance models of Marple (marple fit)", model.Schema},
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: schemagen SOURCE-DIRECTORY FILE")
	}
	r := jsonschema.Reflector{Mapper: func(t reflect.Type) *jsonschema.Schema {
		if t == reflect.TypeFor[formula.Expr]() {
			return &jsonschema.Schema{Type: "string", Description: "a formula, as package formula reads it"}
		}
		return nil
	}}
	if err := r.AddGoComments("marple", os.Args[1]); err != nil {
		log.Fatal(err)
	}
	document, ok := documents[filepath.Base(os.Args[1])]
	if !ok {
		log.Fatalf("%s: expected the directory of package run, model or compare", os.Args[1])
	}
	schema := r.Reflect(document.example)
	schema.ID = "" // it is found with --schema of the command, not in the network
	schema.Title = document.title
	if version, ok := schema.Definitions[document.name].Properties.Get("schema"); ok {
		version.Const = document.version
	}
	data, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[2], append(data, '\n'), 0o666); err != nil {
		log.Fatal(err)
	}
}
