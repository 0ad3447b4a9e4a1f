// Command schemagen writes the JSON Schema of run.json from the types in package run and their comments.
//
//	schemagen SOURCE-DIRECTORY FILE
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/invopop/jsonschema"

	"marple/analysis/run"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: schemagen SOURCE-DIRECTORY FILE")
	}
	r := jsonschema.Reflector{}
	if err := r.AddGoComments("marple", os.Args[1]); err != nil {
		log.Fatal(err)
	}
	schema := r.Reflect(&run.Run{})
	schema.ID = "" // it is found with `marple report --schema`, not in the network
	schema.Title = "A run measured by Marple (run.json)"
	if version, ok := schema.Definitions["Run"].Properties.Get("schema"); ok {
		version.Const = run.Schema
	}
	data, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[2], append(data, '\n'), 0o666); err != nil {
		log.Fatal(err)
	}
}
