package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

const (
	configName = "weedlc.toml"
	envPrefix  = "WEEDLC_"
	// settingMark annotates the flags that the environment and the
	// configuration file may set.
	settingMark = "setting"
)

// settings marks flags as configurable.
func settings(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, settingMark, nil); err != nil {
			panic(err)
		}
	}
}

func isSetting(f *pflag.Flag) bool { _, ok := f.Annotations[settingMark]; return ok }

// hasSettings reports whether a command has a setting of its own. One that has
// none works whatever the configuration says.
func hasSettings(cmd *cobra.Command) bool {
	found := false
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { found = found || isSetting(f) })
	return found
}

// layer is where a value came from; a higher one wins.
type layer int

const (
	fromDefault layer = iota
	fromFile
	fromEnv
	fromFlag
)

// configDirs are the places of weedlc.toml, the first that has one wins: the
// same as those of weed's own files.
func (h *Host) configDirs() []string {
	dirs := []string{"."}
	if home := h.getenv("HOME"); home != "" {
		dirs = append(dirs, filepath.Join(home, ".seaweedfs"))
	}
	return append(dirs, "/usr/local/etc/seaweedfs", "/etc/seaweedfs")
}

// configure fills the flags that the command line left alone from the
// environment and the configuration file, through the same values that the
// command line goes through.
func (a *app) configure(cmd *cobra.Command) error {
	known := settingNames(cmd.Root())
	v := viper.New()
	file, err := a.readConfig(v, known)
	if err != nil {
		return err
	}
	env, err := a.readEnv(v, known)
	if err != nil {
		return err
	}

	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Changed:
			a.global.layers[f.Name] = fromFlag
			return
		case !isSetting(f) || !v.IsSet(f.Name):
			return
		}
		a.global.layers[f.Name] = fromFile
		source := fmt.Sprintf("%s: %s", file, f.Name)
		if env[f.Name] {
			a.global.layers[f.Name] = fromEnv
			source = envName(f.Name)
		}
		for _, value := range texts(v.Get(f.Name)) {
			if err := f.Value.Set(value); err != nil {
				errs = append(errs, fmt.Errorf("%s %q: %s", source, value, cause(err)))
			}
		}
	})
	return errors.Join(errs...)
}

// settingNames lists the configurable flags of every command.
func settingNames(root *cobra.Command) []string {
	var names []string
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		add := func(f *pflag.Flag) {
			if isSetting(f) && !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
		cmd.LocalFlags().VisitAll(add)
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)
	slices.Sort(names)
	return names
}

// readConfig reads the configuration file, if there is one, into v and
// returns its name. A key that is no flag is an error.
func (a *app) readConfig(v *viper.Viper, known []string) (string, error) {
	file := a.global.config
	if file == "" {
		for _, dir := range a.host.configDirs() {
			name := filepath.Join(dir, configName)
			if _, err := os.Stat(name); err == nil {
				file = name
				break
			} else if !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("configuration file: %w", err)
			}
		}
	}
	if file == "" {
		return "", nil
	}
	v.SetConfigFile(file)
	v.SetConfigType("toml")
	if err := v.ReadInConfig(); err != nil {
		return file, fmt.Errorf("configuration file %q: %w", file, err)
	}
	var errs []error
	keys := v.AllKeys()
	slices.Sort(keys)
	for _, key := range keys {
		if slices.Contains(known, key) {
			continue
		}
		err := fmt.Errorf("%s: unknown key %q", file, key)
		if _, bare, nested := strings.Cut(key, "."); nested && slices.Contains(known, bare) {
			err = hint(err, "keys are flag names and stand above any [table]: %s", bare)
		} else if near := nearest(key, known); near != "" && !strings.HasPrefix(near, key) {
			err = hint(err, "the nearest key is %q", near)
		}
		errs = append(errs, err)
	}
	return file, errors.Join(errs...)
}

// readEnv lays the environment over what v has of the file and tells which
// keys it set.
func (a *app) readEnv(v *viper.Viper, known []string) (map[string]bool, error) {
	byEnv := map[string]string{}
	for _, name := range known {
		byEnv[envName(name)] = name
	}
	set, values := map[string]bool{}, map[string]any{}
	for _, kv := range a.host.Env {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, envPrefix) || name == queuePasswordEnv {
			continue
		}
		key, ok := byEnv[name]
		if !ok {
			a.log.Warn("an environment variable with our prefix is no setting", "name", name)
			continue
		}
		set[key], values[key] = true, value
	}
	return set, v.MergeConfigMap(values)
}

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// texts is a configured value in the words of the command line: a list has
// one element for each Set.
func texts(value any) []string {
	if list, ok := value.([]any); ok {
		words := make([]string, len(list))
		for i, w := range list {
			words[i] = fmt.Sprint(w)
		}
		return words
	}
	return []string{fmt.Sprint(value)}
}
