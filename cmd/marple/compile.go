package main

import (
	"os"
	"path/filepath"
)

// headers is the directory of Marple's own headers: where it is installed, or in its source tree. "" if they are not there.
func headers() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	for _, directory := range []string{"../include", "../cshim/include"} {
		directory = filepath.Join(filepath.Dir(self), directory)
		if _, err := os.Stat(filepath.Join(directory, "marple.hpp")); err == nil {
			return directory
		}
	}
	return ""
}
