package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"marple/analysis/setting"
	"marple/analysis/yaml"
)

const maxConfig = 1 << 20

// readConfig reads a YAML file of settings. Errors say file:line:column, what stands there and what was
// expected.
func readConfig(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if len(data) > maxConfig {
		return nil, fmt.Errorf("config: %s: larger than %d bytes", path, maxConfig)
	}
	return parseConfig(path, data)
}

func parseConfig(path string, data []byte) (set map[string]string, err error) {
	tree, err := yaml.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("config: %s:%w", path, err)
	}
	set = map[string]string{}
	for _, document := range tree.Docs {
		if document.Body == nil {
			continue
		}
		var pairs []*ast.MappingValueNode
		switch body := document.Body.(type) {
		case *ast.MappingNode:
			pairs = body.Values
		case *ast.MappingValueNode:
			pairs = []*ast.MappingValueNode{body}
		case *ast.NullNode, *ast.CommentGroupNode:
			continue
		default:
			return nil, at(path, document.Body, "expected lines of the form  key: value")
		}
		for _, pair := range pairs {
			key := pair.Key.String()
			s, ok := setting.Lookup(key)
			if !ok {
				return nil, at(path, pair.Key, "unknown setting %q; expected one of %s", key, keys())
			}
			value, ok := scalar(pair.Value)
			if !ok {
				return nil, at(path, pair.Value, "%s: expected %s", key, s.Expected())
			}
			if err := s.Check(value); err != nil {
				return nil, at(path, pair.Value, "%v", err)
			}
			set[key] = value
		}
	}
	return set, nil
}

// scalar gives a value as it is written: in YAML 1.1 and out of habit, on and off may be read as booleans.
func scalar(n ast.Node) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case ast.ScalarNode:
		return v.GetToken().Value, true
	}
	return "", false
}

func at(path string, n ast.Node, format string, arguments ...any) error {
	position := n.GetToken().Position
	return fmt.Errorf("config: %s:%d:%d: %s", path, position.Line, position.Column, fmt.Sprintf(format, arguments...))
}

func keys() string {
	var list []string
	for _, s := range setting.Table {
		list = append(list, s.Key)
	}
	return strings.Join(list, ", ")
}
