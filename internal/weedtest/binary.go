package weedtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ServerVersion is the SeaweedFS version that the tests are written against.
const ServerVersion = "4.53"

// Binary finds the server: a weed of ServerVersion on PATH, else bin/weed of
// the module that the working directory lies in.
func Binary(ctx context.Context) (string, error) {
	var others []string
	if path, err := exec.LookPath("weed"); err == nil {
		version, err := binaryVersion(ctx, path)
		if err == nil && version == ServerVersion {
			return path, nil
		}
		others = append(others, fmt.Sprintf("%s is version %q", path, version))
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", "weed")
	version, err := binaryVersion(ctx, path)
	switch {
	case err == nil && version == ServerVersion:
		return path, nil
	case errors.Is(err, fs.ErrNotExist):
		others = append(others, path+" does not exist")
	case err != nil:
		others = append(others, fmt.Sprintf("%s does not run: %v", path, err))
	default:
		others = append(others, fmt.Sprintf("%s is version %q", path, version))
	}
	return "", fmt.Errorf("no weed of version %s (%s); build it with: make -C %s weed",
		ServerVersion, strings.Join(others, "; "), root)
}

// binaryVersion reads the version out of "version 30GB 4.53  linux amd64".
func binaryVersion(ctx context.Context, path string) (string, error) {
	if _, err := os.Stat(path); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(out))
	if len(fields) < 3 || fields[0] != "version" {
		return "", fmt.Errorf("unknown answer to the version command: %q", out)
	}
	return fields[2], nil
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.tool.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("not inside the weedlc module: no go.tool.mod above the working directory")
		}
		dir = parent
	}
}
